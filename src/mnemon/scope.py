"""Whose data is meant: the first argument of every store method."""

from dataclasses import dataclass, replace

from mnemon.ids import internal_user_id


@dataclass(frozen=True, kw_only=True)
class Scope:
    """An organization, and where it matters one of its people and the persona they speak with."""

    org_id: str
    """The organization's name, as its keys carry it."""
    user_id: str | None = None
    """The person's internal id (`usr_…`), never the name the application uses."""
    persona_id: str | None = None
    """The persona the person speaks with; None means no persona: what is global and the direct messages."""

    @property
    def user(self) -> str:
        """The person's internal id, for a method that cannot do without one."""
        if self.user_id is None:
            raise RuntimeError("this scope names no person")
        return self.user_id

    def with_persona(self, persona_id: str | None) -> "Scope":
        return replace(self, persona_id=persona_id)


def person(org_id: str, external_user: str, persona_id: str | None = None) -> Scope:
    """The scope of the person that the organization calls `external_user`."""
    return Scope(org_id=org_id, user_id=internal_user_id(org_id, external_user), persona_id=persona_id)
