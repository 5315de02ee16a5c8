"""Pages of settings: models, keys, personas, privacy (export and forget) and the audit log."""

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Response
from starlette.responses import StreamingResponse

from mnemon.access import keys as access_keys
from mnemon.access import store as access
from mnemon.access.grants import DEFAULT_PERSONAL_IN_ORDER, Grant, parse_grants
from mnemon.console.forms import check_fields
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, download, page
from mnemon.custody.export import export_to_file, file_chunks
from mnemon.custody.forget_person import forget_person
from mnemon.errors import Invalid
from mnemon.input_checks import check_name
from mnemon.sessions import overview
from mnemon.sessions.people import EngagementUse, find_persona, put_persona

router = APIRouter()
AUDIT_PAGE_SIZE = 100
MAX_PEOPLE = 500
MAX_DAYS = 36_500
MAX_PROMPT_CHARS = 8000


@page(router, "/settings", "settings.html", grant=Grant.MEMORY_READ)
async def settings(visit: PageRequest) -> PageContent:
    """Show the page of the models, the main settings, and who is signed in."""
    services = visit.services
    data = {
        "models": [
            {"for": "Replies in chat", "name": services.llm.name, "offline": services.llm.offline},
            {"for": "Reflection and summaries", "name": services.reflector.name, "offline": services.reflector.offline},
            {"for": "Embeddings", "name": services.embedder.model, "offline": services.settings.embedder == "local"},
        ],
        "offline": services.llm.offline,
        "in_force": _settings_summary(visit),
        "actor": visit.principal.key_id,
        "grants": sorted(visit.principal.grants),
    }
    return PageContent(title="Settings", data=data)


def _settings_summary(visit: PageRequest) -> dict[str, str]:
    """Return the settings that people ask about most, as labels and values; none of them is a secret."""
    chosen = visit.services.settings
    return {
        "A session ends after": f"{chosen.session_boundary.total_seconds() / 60:.0f} minutes of silence",
        "A new session resumes it within": f"{chosen.resume_window.total_seconds() / 3600:.0f} hours",
        "Context budget": f"{chosen.context_budget_tokens} tokens",
        "Ranking in chat": chosen.chat_ranking,
        "The curator runs after": f"{chosen.curator_after} new memories of a person",
        "A hypothesis becomes a finding above": f"{chosen.promotion_threshold:.2f} confidence",
        "A job is parked after": f"{chosen.max_attempts} attempts",
    }


@page(router, "/settings/keys", "settings_keys.html", grant=Grant.ADMIN)
async def keys(visit: PageRequest) -> PageContent:
    """Show the page of all API keys, without their secrets."""
    async with visit.tx() as tx:
        found = await access.list_keys(tx, visit.org_scope)
    live = [key for key in found if key.revoked_at is None]
    gone = [key for key in found if key.revoked_at is not None]
    default = ", ".join(DEFAULT_PERSONAL_IN_ORDER)
    data = {"live": live, "gone": gone, "grants": list(Grant), "default_bound": default, "now": tx.now}
    return PageContent(title="Keys", data=data)


@action(router, "/settings/keys", grant=Grant.ADMIN, template="settings_key.html", field="name")
async def create_key_from_form(visit: PageRequest, form: dict[str, str]) -> PageContent:
    """Create an API key from the form, and show the key, which cannot be shown again."""
    ticked = [word.removeprefix("grant:") for word in form if word.startswith("grant:")]
    everything = form.get("everything") == "yes"
    name, user, days = (form.get(word, "").strip() for word in ("name", "user", "days"))
    countable = days.isascii() and days.isdigit() and len(days) <= 5 and 0 < int(days) <= MAX_DAYS
    check_fields(
        name="" if 1 <= len(name) <= 200 else "Give the key a name of at most 200 characters.",
        # Not the stripped value: blanks alone must be refused, not taken for an empty field.
        user=_user_fault(form.get("user", "")),
        days=""
        if countable or not days
        else f"Enter a whole number of days from 1 to {MAX_DAYS}, or leave it empty for never.",
        everything="" if everything != bool(ticked) else "Choose scopes, or tick “everything”, not both.",
    )
    grants = None if everything else parse_grants(ticked)
    async with visit.tx() as tx:
        key, text = await access_keys.create_key(
            tx,
            visit.org_scope,
            name=name,
            grants=grants,
            bound_user=user or None,
            expires_at=tx.now + timedelta(days=int(days)) if days else None,
            # A key made here has no more scopes and no later end than the session.
            maker=visit.principal,
        )
        visit.audit_write(tx, "create key", key.id)
    return PageContent(title="A new key", data={"key": key, "text": text})


def _user_fault(typed: str) -> str:
    """Return what is wrong with the person to bind an API key to, empty if nothing is.

    An empty field binds the key to nobody, but blanks are refused: the key would not be bound as intended.
    """
    try:
        if typed:
            access_keys.check_bound_user(typed.strip())
    except Invalid as error:
        return error.detail
    return ""


@action(router, "/settings/keys/{key_id}/revoke", grant=Grant.ADMIN)
async def revoke_key(visit: PageRequest, form: dict[str, str], key_id: str) -> ActionRedirect:
    """Revoke the API key."""
    async with visit.tx() as tx:
        await access_keys.revoke_key(tx, visit.org_scope, key_id)
        visit.audit_write(tx, "revoke key", key_id)
    return ActionRedirect(to="/settings/keys", notice="Key revoked. Requests with it are refused from now on.")


@page(router, "/settings/personas", "settings_personas.html", grant=Grant.MEMORY_READ)
async def personas(visit: PageRequest) -> PageContent:
    """Show the page of described personas, with a form for a new one or the one to edit."""
    async with visit.tx() as tx:
        found = await overview.list_personas(tx, visit.org_scope)
        edited = await find_persona(tx, visit.org_scope, visit.asked("edit")) if visit.asked("edit") else None
    return PageContent(title="Personas", data={"personas": found, "edited": edited, "now": tx.now})


@action(router, "/settings/personas", grant=Grant.PERSONAS_WRITE)
async def save_persona(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Insert or replace the persona that the form describes."""
    persona_id, name, prompt = form.get("id", "").strip(), form.get("name", "").strip(), form.get("prompt", "")
    check_fields(
        id=_persona_fault(persona_id),
        name="" if 1 <= len(name) <= 200 else "A persona needs a name of at most 200 characters.",
        prompt="" if len(prompt) <= MAX_PROMPT_CHARS else f"A prompt has at most {MAX_PROMPT_CHARS} characters.",
    )
    use = EngagementUse.SHARED if form.get("engagement") == "shared" else EngagementUse.OFF
    async with visit.tx() as tx:
        await put_persona(tx, visit.org_scope, persona_id, name=name, prompt=prompt, engagement=use)
        visit.audit_write(tx, "describe persona", persona_id)
    return ActionRedirect(to="/settings/personas", notice=f"{name} is saved.")


def _persona_fault(typed: str) -> str:
    """Return what is wrong with a persona's id, empty if nothing is."""
    if not 1 <= len(typed) <= 200:
        return "A persona needs an id of at most 200 characters."
    try:
        check_name(typed)
    except ValueError as error:
        return f"The id {error}."
    return ""


@page(router, "/settings/privacy", "settings_privacy.html", grant=Grant.CUSTODY)
async def privacy(visit: PageRequest) -> PageContent:
    """Show the page of all people, each with buttons to export or forget them."""
    async with visit.tx() as tx:
        people = await overview.list_people(tx, visit.org_scope, most=MAX_PEOPLE, words=visit.asked("q") or None)
    data = {"people": people, "most": MAX_PEOPLE, "q": visit.asked("q"), "user": visit.asked("user")}
    return PageContent(title="Privacy", data=data)


@download(router, "/settings/privacy/export", grant=Grant.CUSTODY)
async def export(visit: PageRequest) -> Response:
    """Return a download of everything that is stored about a person."""
    person = visit.person_scope(visit.asked("user"))
    sees_state = visit.principal.may(Grant.AGENT_STATE_READ)
    file = await export_to_file(
        visit.services.db,
        person,
        record=lambda tx: visit.audit_write(tx, "export person", person.user),
        agent_state=sees_state,
        answers=sees_state and visit.principal.may(Grant.ENGAGEMENT_READ),
    )
    named = {"Content-Disposition": 'attachment; filename="mnemon-export.ndjson"'}
    return StreamingResponse(file_chunks(file), media_type="application/x-ndjson", headers=named)


@action(router, "/settings/privacy/forget", grant=Grant.CUSTODY, template="settings_receipt.html", field="user")
async def forget(visit: PageRequest, form: dict[str, str]) -> PageContent:
    """Forget the person if their name was typed twice, and show the receipt that counts what was removed."""
    user, again = form.get("user", ""), form.get("confirm", "")
    check_fields(
        user="" if user.strip() else "Nothing was forgotten: name the person.",
        confirm="" if again.strip() == user.strip() else "Nothing was forgotten: type the person's name to confirm.",
    )
    async with visit.tx() as tx:
        receipt = await forget_person(tx, visit.person_scope(user))
        visit.audit_write(tx, "forget person", receipt.id)
    return PageContent(title="Forgotten", data={"receipt": receipt, "total": receipt.total})


@page(router, "/settings/audit", "settings_audit.html", grant=Grant.ADMIN)
async def audit(visit: PageRequest) -> PageContent:
    """Show the page of the audit log, newest entry first."""
    async with visit.tx() as tx:
        found = await access.list_audit_entries(
            tx, visit.org_scope, before=visit.asked("before") or None, most=AUDIT_PAGE_SIZE + 1
        )
    data: dict[str, Any] = {"entries": found[:AUDIT_PAGE_SIZE], "more": len(found) > AUDIT_PAGE_SIZE, "now": tx.now}
    return PageContent(title="Audit log", data=data)
