"""What makes a sentence no statement of fact: then nothing is taken from it."""

import re

from mnemon.memory.offline.reading import Clause


def _table(*entries: str) -> re.Pattern[str]:
    return re.compile(r"(?:%s)" % "|".join(entries), re.IGNORECASE)


HARMLESS = _table(
    r"\bcan't (?:stand|bear)\b", r"\bsay no\b", r"\byou can (?:reach|email|call|text|write) me\b", r"\bdream job\b"
)
"""Looks like a negation or a report, and is none."""

QUESTION = _table(
    r"\?[\"')\s]*$",
    r"^(?:who|whom|whose|what|what's|where|where's|when|when's|why|how|how's|which)\b",
    r"^(?:do|does|did|am|are|was|were|can|could|would|should|shall|may|has|had) ",
    r"^(?:is|will|have) (?!a |an |my |is |works |lives |loves |likes |two |three )",
    r"^(?:don't|doesn't|didn't|isn't|aren't|won't|can't|couldn't|wouldn't|haven't|hasn't) ",
    r", (?:right|correct|no|yes|yeah|huh|eh|or not)\s*$",
    r"\bdo(?:es)? you (?:know|think|remember)\b",
    r"\bguess (?:who|what|where|how)\b",
)

_ORDERS = (
    "write|draft|translate|say|pretend|let's|let us|let me|tell|help|act|imagine|find|suppose|supposing|complete|give|show"
    "|make|create|explain|list|rewrite|summari[sz]e|check|fix|add|send|search|look|play|role-?play|answer|respond|reply"
    "|ask|describe|generate|compose|assume|assuming|consider|think|repeat|read|finish|fill|spell|sing|use|try|set|book"
    "|order|schedule|suggest|recommend|compare|calculate|convert|correct|proofread|edit|change|replace|delete|remove"
    "|forget|ignore|teach|guess|remind|continue|format|paraphrase|improve|review|design|plan|prepare|outline|brainstorm"
    "|quote|cite|define|name|pick|choose|start|stop|open|close|save|store|update|turn|put|keep|bring|take|get|go|come"
    "|buy|hold|wait|listen|watch|be|do|don't|never|always"
)
REQUEST = _table(
    rf"^(?:please |kindly |now |then |just )*(?:{_ORDERS})\b",
    r"\b(?:can|could|would|will) you\b",
    r"\b(?:saying|says|say|stating|states|stated|like|phrase|sentence|line|caption|slogan|title|template|example) ?:? (?:that )?(?=i\b|i'm|my )",
    r"\bcall me (?:a|an|back|later|when|if|at|on|in|tomorrow|tonight|today)\b",
    r"\bi (?:need|want|would like|'d like) you to\b",
)

HYPOTHETICAL = _table(
    r"\b(?:if|unless|imagine|suppose|supposing|assuming|pretend|pretending|wish|hypothetically|as though|as if|in case)\b",
    r"\b(?:let's say|what if|even if|were i|had i|in theory|for example|for instance|e\.g\.)",
    r"^(?:when|once|until|before|after|as soon as) ",
    r"\bin (?:my|the|a) (?:dream|dreams|game|past life|next life|previous life|novel|story|movie|film|play|book|song)\b",
)
"""Of the whole sentence: what follows is not the case, or not yet."""

UNCERTAIN = _table(
    r"\b(?:would|could|might|should|shall|maybe|perhaps|probably|possibly|potentially|supposedly|allegedly|apparently)\b",
    r"\b(?:i|we|he|she|they|it)'(?:d|ll)\b(?! rather)",
    r"\b(?-i:will|may|can)\b",
    r"\b(?:hope|hopes|hoping|dream|dreams|dreaming|someday|some day|one day|plan|plans|planning|considering|thinking)\b",
    r"\b(?:want|wants|wanted|trying|tried|going|about|looking|able|ready|supposed|willing|tempted|hesitant|due) to\b",
    r"\b(?:gonna|wanna|almost|nearly|kind of|sort of|technically|theoretically|feel like|feels like|look like|sound like)\b",
    r"\b(?:i think|i guess|i believe|i suppose|i assume|i bet|not sure|i doubt|seems?|seemed)\b",
)
"""Of the clause: said with less than certainty, or of what is to come."""

NEGATED = _table(
    r"\b(?:not|never|no|nobody|none|nothing|neither|nor|hardly|barely|scarcely|rarely|without|cannot|nowhere)\b",
    r"\b\w+n't\b",
    r"\b(?:used to|no longer|anymore|any more|any longer|quit|stopped|gave up|until|formerly|previously|former|ex)\b",
    r"\b(?:pretended|forgot|failed|refused|instead of)\b",
)

REPORTED = _table(
    r"\b(?:said|says|say|saying|told|tells|tell|claims?|claimed|according to|thinks|thought|believes?|believed|heard|hear)\b",
    r"\b(?:read that|wrote|writes|rumou?rs?|rumou?red|put it|puts it|quotes?|quoted|quoting|lyrics?|horoscope|asked|asks)\b",
    r"\b(?:called it|reportedly|mentioned|insists?|insisted|joked?|jokes|swears?|swore|announced|tweeted|posted|replied)\b",
    r"\b(?:the|this|that) (?:song|movie|film|book|ad|advert|form|character|article|story|novel|quote|email|letter|sign"
    r"|headline|poem|prompt|question|sentence|text|document|website|page|post|tweet|joke|protagonist|hero|actor)\b",
    r"\bcharacter\b",
    r"\x00",
)
"""Someone else's words, or words about words."""

IRONIC = _table(
    r"\byeah,? right\b",
    r"\boh,? (?:great|sure|joy|wonderful|perfect|fantastic|how)\b",
    r"\b(?:totally|obviously|just love|so much fun|thanks a lot|of course i|clearly|kidding|joking|jk|lol|lmao|haha+|rofl)\b",
    r"^(?:sure|yeah|right|great|wow|wonderful),",
    r"(?:^|\s)/s\b",
    r"[🙄😂🤣😅😜😏😆🙃]",
)

WAVERING = _table(
    r"\b(?:maybe|perhaps|probably|possibly|might|someday|some day|one day|eventually|never|would|could|no longer|won't)\b",
    r"\b(?:i think|i guess|i suppose|i doubt|if)\b",
)
"""A promise that is none."""

PASSING = _table(
    r"\b(?:today|tonight|this (?:morning|afternoon|evening|week|weekend|month|time|minute|second)|right now|at the moment)\b",
    r"\b(?:for now|for a (?:bit|while|second|minute)|temporarily|yesterday|tomorrow|these few|so far|sometimes|somehow)\b",
)
"""True for a day: not worth remembering."""


def is_statement(clause: Clause) -> bool:
    """Whether the person states what is the case."""
    sentence, text = HARMLESS.sub(" ", clause.sentence), HARMLESS.sub(" ", clause.text)
    whole = (QUESTION, REQUEST, HYPOTHETICAL, REPORTED, IRONIC)
    return not any(table.search(sentence) for table in whole) and not any(
        table.search(text) for table in (UNCERTAIN, NEGATED)
    )


def is_told(clause: Clause) -> bool:
    """Whether it is the person's own telling: no question, no supposition, nobody else's words, no irony."""
    sentence = HARMLESS.sub(" ", clause.sentence)
    return not any(table.search(sentence) for table in (QUESTION, HYPOTHETICAL, REPORTED, IRONIC))


def is_promise(clause: Clause) -> bool:
    """Whether it may be a promise: the person's own telling, not taken back and not half-hearted."""
    return is_told(clause) and not WAVERING.search(clause.text)


def is_passing(clause: Clause) -> bool:
    """Whether it holds for the day only."""
    return PASSING.search(clause.text) is not None
