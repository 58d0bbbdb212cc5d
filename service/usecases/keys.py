"""Keys made and closed at the command line, by whoever may read the installation's secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from service import keys
from service.errors import UsageError
from service.identifiers import new_id
from service.ports import AuditEntry, AuditLog, Clock, KeyRecord, KeyStore, Scope
from service.signer import Signer

COMMAND_LINE = "command line"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyService:
    """Keys of an installation."""

    store: KeyStore
    audit: AuditLog
    signer: Signer
    clock: Clock

    def create(
        self, *, tenant: str, name: str, scopes: Sequence[Scope], expires_days: int | None
    ) -> tuple[KeyRecord, str]:
        """Make a key; its record, and the key itself, which is not to be had again."""
        now = self.clock.now()
        minted = keys.mint(self.signer)
        record = KeyRecord(
            id=new_id("key", now),
            tenant=tenant,
            name=name,
            shown=minted.shown,
            scopes=tuple(scopes),
            created_at=now,
            created_by=COMMAND_LINE,
            expires_at=None if expires_days is None else now + timedelta(days=expires_days),
        )
        self.store.add(record, minted.hash)
        self._note(tenant, "keys create", record.id)
        return record, minted.text

    def revoke(self, tenant: str, key_id: str) -> KeyRecord:
        """Close a key for good.

        Raises:
            NotFoundError: the tenant has no such key.
        """
        record = self.store.revoke(tenant, key_id, self.clock.now())
        self._note(tenant, "keys revoke", record.id)
        return record

    def _note(self, tenant: str, action: str, subject: str) -> None:
        now = self.clock.now()
        entry = AuditEntry(
            id=new_id("aud", now),
            tenant=tenant,
            at=now,
            actor=COMMAND_LINE,
            action=action,
            subject=subject,
            outcome="ok",
            request_id="",
            address="",
        )
        self.audit.write(entry)


def read_scopes(words: Sequence[str]) -> tuple[Scope, ...]:
    """Scopes by their names; none named: all of them.

    Raises:
        UsageError: a name is none.
    """
    try:
        return tuple(Scope(word) for word in words) or tuple(Scope)
    except ValueError:
        known = ", ".join(Scope)
        raise UsageError(f"--scope takes one of {known}") from None
