"""Recognize text that has digits or number words but is no figure: dates, times, ordinals, references, names, idioms.

The tables are applied from top to bottom and are extended by adding a line. English only, like the number words.
"""

import re

from mnemon.untrusted_text import reads_outside_text

_BLANK = "\x00"
"""The character that masks a reference: neither part of a word nor white space, so that it joins nothing."""
_DASH = r"[-–—]"
_MONTHS = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|january|february|april|june|july|august|september|october"
    r"|november|december)\b\.?"
)
_YEAR = r"(?:19|20)\d\d"
_NUMBER_WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_MEASURED = (
    r"(?![.,]?\d)(?!\s?(?:%|‰|x\b|×|[kKmMbB]\b|bn\b|per\s?cent|percent|pct|basis|bps|hundred|thousand|million|billion"
    r"|trillion|dozen|dollars?|euros?|pounds?|out\s+of))"
)
"""What must not follow: a number that continues like this is a figure, whatever stands before it."""

_NOUNS = (
    r"(?:session|week|day|month|year|quarter|phase|step|section|page|chapter|figure|table|appendix|slide|row|column"
    r"|part|track|stage|tier|level|option|item|ticket|issue|room|sprint|turn|hypothesis|hypotheses|unknown|finding"
    r"|floor|building|release|version|round|wave|rule|article|clause|question|kpi|priority|goal|objective|plant"
    r"|line|site|team|store|batch|lot|group|cluster|scenario|exhibit|note|milestone|layer|horizon|workstream"
    r"|iteration|generation|series|game|grade|category|zone|region|gate|bay|dock|cell|station|warehouse)"
)
_COUNTS = (
    r"(?!\s+(?:people|persons|staff|orders|hours|days|weeks|months|years|minutes|units|employees|customers|clients|deals"
    r"|handoffs|steps|approvals|workers|times|users|managers)\b)"
)
"""What must not follow: a number before one of these nouns counts them, as in "in the group 12 people left"."""
_COUNTS_PLURAL = r"(?!(?<=\d\d)\s+(?!(?:is|was|has|does|goes|runs|needs|works|shows|this|us|as|its)\b)[a-z]{2,30}s\b)"
"""What must not follow two digits: a plural, as in "in the warehouse 4500 pallets", not in "tier 1 suppliers"."""
_COUNTED_OUT = (
    r"(?<!\ba )(?<!\ban )(?<!\bper )(?<!\beach )(?<!\bevery )(?<!\bthis )(?<!\bthat )(?<!\blast )(?<!\bnext )"
    r"(?<!\bone )(?<!\bpast )"
)
"""What must not precede the noun: after these, the number counts something else, as in "last week 14 handoffs"."""
_NUMERAL = rf"(?:\d+(?:\.\d+)*[a-z]?\b|{_NUMBER_WORD}\b)"

_ANY_CASE = (
    # addresses and ids
    r"\b[a-z]{2,12}://\S+|[\w.+-]{1,64}@[\w-]{1,64}(?:\.\w{1,24})+|\b[a-z]{2,8}_[0-9a-z]+\b",
    # idioms
    (
        r"\b24/7\b|\b1:1\b|\b(?:one|1)-(?:on|to)-(?:one|1)\b|\b9-to-5\b|(?<![$€£\d])\b401\s?\(?k\)?(?!\w)|\b(?:10|8)-K\b"
        r"|\b(?:single|double|triple)[- ]digits?\b|\bzero[- ](?:sum|tolerance|day)\b|\b(?:one|two)-(?:way|sided)\b"
        r"|\bone-offs?\b|\bno one\b|\bone another\b|\bone day\b|\bone by one\b|\bone or two\b|\b360[- ]degrees?\b"
        r"|\bfortune \d+\b|\bs&p 500\b|\bftse 100\b|\bsix sigma\b|\bbig (?:three|four|five)\b|\bfive whys\b"
    ),
    # numbered lists
    (
        r"(?m:^[^\S\n]*\(?\d{1,2}[.)]\s)|(?<=[.!?;:])\s+\d{1,2}[.)]\s"
        r"|(?:^|(?<=[.!?;:]\s))\(\d{1,2}\)"
    ),
    # dates and times
    rf"\b{_YEAR}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    rf"\b{_YEAR}-(?:0[1-9]|1[0-2])\b(?!-)",
    r"\b\d{1,2}[./]\d{1,2}[./](?:19|20)?\d\d\b",
    rf"\b(?:on|by|since|until|dated)\s+\d{{1,2}}/\d{{1,2}}\b{_MEASURED}",
    rf"\b\d{{1,2}}(?::\d\d)?\s?(?:[ap]m\b|[ap]\.m\.?)(?:\s?(?:{_DASH}|to)\s?\d{{1,2}}(?::\d\d)?\s?(?:[ap]m\b|[ap]\.m\.?))?",
    r"\b\d{1,2}:\d\d(?::\d\d)?\b",
    rf"\b(?:\d{{1,2}}|{_NUMBER_WORD})\s+o['’]clock\b",
    rf"\b(?:half|(?:a\s+)?quarter)\s+(?:past|to|after)\s+(?:\d{{1,2}}|{_NUMBER_WORD})\b",
    (
        r"\bat\s+\d{1,2}(?=\s+(?:sharp|today|tomorrow|tonight|on\s+(?:mon|tue|wed|thu|fri|sat|sun)"
        r"|in\s+the\s+(?:morning|afternoon|evening)))"
    ),
    rf"\b(?:from|between)\s+{_YEAR}\s+(?:to|and|until|through)\s+{_YEAR}\b{_MEASURED}",
    rf"\b{_YEAR}\s?[-–/]\s?(?:{_YEAR}|\d\d)\b{_MEASURED}",
    (
        rf"\b(?:in|since|during|until|till|year|years|late|early|mid|end of|start of|summer of|spring of|fall of"
        rf"|winter of|fiscal)[\s-]+{_YEAR}\b{_MEASURED}"
    ),
    (
        rf"\b(?:by|before|after|through|for|from|to|of|vs\.?|versus|than)\s+{_YEAR}\b{_MEASURED}(?=\s*(?:$|[.,;:!?)\n—–-]"
        rf"|\s(?:and|or|the|a|was|were|is|are|will|with|by|we|they|i|as|to|in|on|when|while|it|there|at|that|which|but"
        rf"|because|if)\b))"
    ),
    rf"(?:^|(?<=[.!?]\s)){_YEAR}(?=\s+(?:was|is|will|has|saw|looks?|should|would|could|brought|turned|began|ended)\b)",
    rf"\b(?:spring|summer|fall|autumn|winter)\s+{_YEAR}\b{_MEASURED}",
    rf"\(\s?{_YEAR}\s?\)|\b{_YEAR}['’]s\b|\b(?:19|20)\d0s\b|['’]\d0s\b",
    rf"\b{_YEAR}\s+(?=(?:budget|plan|planning|results|strategy|targets?|forecast|season|fiscal|report|edition)\b)",
    rf"\b(?:\d{{1,3}}|{_NUMBER_WORD})\s+(?:minutes?|hours?|days?|weeks?|months?|years?)\s+ago\b",
    # ordinals
    r"\b\d+(?:st|nd|rd|th)\b",
    (
        r"\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?:first|second|third|fourth|fifth|sixth|seventh"
        r"|eighth|ninth)\b(?!s)"
    ),
    # references
    (
        rf"{_COUNTED_OUT}\b{_NOUNS}s?[\s-]+(?:no\.?\s?|number\s+|#\s?)?{_NUMERAL}"
        rf"(?:(?:\s?,\s?|\s+and\s+|\s+or\s+|\s+to\s+|\s?[-–&/]\s?){_NUMERAL})*{_MEASURED}{_COUNTS}{_COUNTS_PLURAL}"
    ),
    rf"(?<!§)§+\s?\d+(?:\.\d+)*|\b(?:(?:no|art|sec|fig|vol|p)\.\s?\d+|number\s+{_NUMERAL}){_MEASURED}|#\s?\d+\b",
    # version numbers; the repeats are bounded, since a match is tried at every part of a long chain
    r"\b(?!\d{1,3}(?:\.\d{3}){1,40}(?:,\d+)?\b)\d+(?:\.\d+){2,40}\b",
    r"\bv\d+(?:\.\d+)*\b",
)
_EXACT_CASE = (
    # parts of a year
    rf"\b(?:[QH][1-4]|FY|CY)[\s-]?(?:of\s+)?(?:{_YEAR}|['’]\d\d)\b|\b{_YEAR}[\s-]?[QH][1-4]\b|\b[1-4][QH](?:\d\d){{1,2}}\b",
    # dates with a month's name
    (
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?:\s?(?:{_DASH}|to|and)\s?(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?)?(?:\s+of)?\s+{_MONTHS}"
        rf"(?:,?\s+{_YEAR}\b)?"
    ),
    rf"\b{_MONTHS}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:\s?{_DASH}\s?\d{{1,2}})?(?:,\s?{_YEAR}|\s+{_YEAR})?\b{_MEASURED}",
    rf"\b{_MONTHS},?\s+{_YEAR}\b",
    # names: a currency's code before digits is none
    (
        r"\b(?!(?:US|A|C|R)\$|(?:USD|EUR|GBP|CHF|JPY|INR|CAD|AUD|CNY|RMB|SEK|NOK|DKK|PLN|BRL|MXN|SGD|HKD|ZAR|Rs)-?\d)"
        r"[A-Z][A-Za-z]*-?\d[A-Za-z\d]*(?:-\d+|['’]\d\d)?\b"
    ),
    r"\b\d(?:D|G|FA|PL|S)\b",
    (
        rf"\b(?:ISO|SOC|IEC|DIN|EN|RFC|PEP|IFRS|Industry|Web|Boeing|Airbus|Windows|Office|Python)[ -]\d+(?:\.\d+)*\b"
        rf"{_MEASURED}"
    ),
)
_MASKS = (
    *(re.compile(pattern) for pattern in _EXACT_CASE),
    *(re.compile(pattern, re.IGNORECASE) for pattern in _ANY_CASE),
)


@reads_outside_text
def mask_references(text: str) -> str:
    """Return the text with dates, ordinals, references and idioms blanked out, all other positions kept."""
    # Masked rather than cut out: figures keep their positions in the original text.
    for mask in _MASKS:
        text = mask.sub(lambda found: _BLANK * len(found.group()), text)
    return text
