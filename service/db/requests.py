"""Requests with an idempotency key on a database."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, exc, select, update

from service.db.account_models import RequestRow
from service.db.columns import is_id
from service.db.driver_errors import locked
from service.db.engine import Database
from service.db.insertion import add
from service.errors import ConflictError, InProgressError, KeyReusedError
from service.ports import StoredResponse

_KEPT = timedelta(hours=24)


class SqlRequests:
    """The port Requests on SQLite or PostgreSQL.

    Both halves belong into one unit of the database, with the effect between them: what fails leaves no key behind, and
    whoever comes with the same key meanwhile waits for the end of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, actor: str, key: str, request_hash: str, at: datetime) -> StoredResponse | None:
        """Claim a key in the transaction under way, or the answer that it was given within 24 hours.

        Raises:
            KeyReusedError: it was used for another request.
            InProgressError: the first request with it is still at work.
        """
        row: dict[str, object] = {
            "actor": actor,
            "key": key,
            "request_hash": request_hash,
            "status": None,
            "headers": {},
            "body": None,
            "created_at": at,
        }
        with self._database.write() as connection:
            try:
                if _claim(connection, row, at):
                    return None
            except exc.DBAPIError as error:
                if locked(error):
                    raise _at_work() from error
                raise
            return _answer(connection, actor, key, request_hash)

    def finish(self, actor: str, key: str, response: StoredResponse) -> None:
        """Keep the answer, in the transaction of the effect.

        Raises:
            ConflictError: the key was not claimed.
        """
        answer = {"status": response.status, "headers": dict(response.headers), "body": response.body}
        statement = update(RequestRow).where(is_id(RequestRow.actor, actor), is_id(RequestRow.key, key)).values(answer)
        with self._database.write() as connection:
            if connection.execute(statement).rowcount != 1:
                raise ConflictError("the answer belongs to no request: its idempotency key was not claimed")


def _claim(connection: Connection, row: dict[str, object], at: datetime) -> bool:
    # An expired row goes first: of two who replace it the second waits here, and then meets the row of the first.
    expired = delete(RequestRow).where(
        RequestRow.actor == row["actor"], RequestRow.key == row["key"], RequestRow.created_at <= at - _KEPT
    )
    connection.execute(expired)
    return add(connection, RequestRow, [row]) == 1


def _answer(connection: Connection, actor: str, key: str, request_hash: str) -> StoredResponse:
    query = select(RequestRow.request_hash, RequestRow.status, RequestRow.headers, RequestRow.body).where(
        RequestRow.actor == actor, RequestRow.key == key
    )
    found = connection.execute(query).one_or_none()
    if found is None:
        raise _at_work()  # it ended without an effect just now, and its row with it
    if found.request_hash != request_hash:
        raise KeyReusedError("this idempotency key came with another request: use a new key for a new request")
    if found.status is None or found.body is None:
        raise _at_work()
    return StoredResponse(status=found.status, headers=found.headers, body=found.body)


def _at_work() -> InProgressError:
    return InProgressError("the first request with this idempotency key is still at work: try again in a while")
