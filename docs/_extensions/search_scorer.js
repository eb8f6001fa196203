// Scores of search results: Sphinx's own, less for pages that list, measure or record than for those that explain.
const ADDED_SCORES = [
  [/^(start|commands)$/, 1],
  [/^(changelog|architecture|paper)$/, -8],
  [/^reference\/generated\//, -4],
  [/^(reference|measurements|gallery)\/|^comparison$/, -2],
];

var Scorer = {
  score: ([page, , , , score]) =>
    score + (ADDED_SCORES.find(([pattern]) => pattern.test(page)) ?? [null, 0])[1],
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
