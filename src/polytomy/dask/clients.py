"""The client through which a cluster is used."""

from __future__ import annotations

from typing import Any

from distributed import Client, default_client

from polytomy.errors import Argument, ArgumentError

__all__ = ["find_client"]


def find_client(client: Any) -> Client:
    """Return the given client, or else the one that was created last.

    Raises an ArgumentError if there is none, or if it is asynchronous.
    """
    if client is None:
        try:
            client = default_client()
        except ValueError as error:
            raise ArgumentError(
                "there is no Dask cluster. Create one with distributed.Client(), or set ",
                Argument("client"),
                ".",
            ) from error
    if not isinstance(client, Client):
        raise ArgumentError(
            Argument("client"), f" must be a distributed.Client; got {type(client).__name__}."
        )
    if client.asynchronous:
        raise ArgumentError(
            Argument("client"), " is asynchronous. Use a client with asynchronous=False."
        )
    if client.status != "running":
        raise ArgumentError(
            Argument("client"), f" is {client.status}. Create a new one, with distributed.Client()."
        )
    return client
