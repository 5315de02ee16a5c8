"""The words by which the support gate compares a statement with its quote. English; extended by adding a line.

`FREE` words need no support: they carry no claim of their own. `SYNONYMS` say which words of a quote allow which words
of a statement; the relation has a direction, since "my daughter" supports "child" and "my child" does not support
"daughter".
"""

from collections import defaultdict

from mnemon.evidence.stems import stem, stem_words

FUNCTION_WORDS = frozenset(
    (
        "a an and are as at be been being but by did do does doing for from had has have having he her hers herself him "
        "himself his i if in into is it its itself me mine my myself of off on onto or our ours ourselves out over she "
        "so than that the their theirs them themselves then there these they this those through to too under up upon us "
        "was we were what when where whether which while who whom whose will with within would you your yours yourself "
        "am about also any because between both can could down during each either else even ever here how just may "
        "might more most much must own per quite rather same shall should since some such though until very via "
        "well why yet im ive ill id hes shes theyre weve were youre thats theres again already almost along among "
        "another around away back before after against across toward towards behind below above beside besides "
        "s t d ll m re ve"
    ).split()
)
"""Words of grammar. Negations and quantifiers are not among those that may be ignored: the gate looks at them apart."""

FREE = stem_words(
    "person user customer client someone somebody people name named called known say said says tell told mention "
    "mentioned state stated report reported note noted cite cited describe described explain explained add added "
    "confirm confirmed share shared express expressed indicate indicated claim claimed quote quoted according "
    "currently current now present presently today recently lately still fact detail information info thing "
    "something type kind sort way one ones consider regard concern regarding concerning term include including "
    "particular particularly specifically particular certain general overall various several whose himself "
    "session turn message conversation chat interview"
)
"""Stems that a statement may add without support: what was said was said, in a conversation, by a person."""

_SYNONYM_LINES = """
live reside home base dwell settle : live lived living reside home based dwell settled moved relocated house apartment flat
residence : live home house apartment flat residence
located : live based in office located site
move relocate : moved move moving relocate relocated relocation
hometown : from grew hometown
originally native : from originally native born
work employ job employer employee position role career occupation profession : work working employed job employer role position company joined hired career engineer teacher nurse doctor developer manager officer analyst designer lawyer
work employ : quit resigned fired left started run lead manage colleague coworker team office boss shift
job : work employed job position role hired offer
join start : joined join started begin began new
begin began start : started begin began start beginning
company employer firm organization business workplace : company employer firm organization business startup workplace agency joined
startup : startup founded company
profession occupation : am work job
colleague coworker teammate : colleague coworker teammate work team
boss manager supervisor : boss manager supervisor report lead
manage lead head run oversee : manage lead led lead head run oversee charge responsible manager boss
own run founded found founder : own run founded founder started bought have owner business
own possess have : have has had own got bought buy my our get adopted
pet animal : dog cat pet puppy kitten rabbit hamster parrot bird horse turtle fish animal
dog : puppy dog dogs labrador retriever poodle terrier beagle corgi dachshund shepherd collie husky
cat : kitten cat tabby siamese
buy bought purchase acquire : bought buy purchased got acquired picked order
like love enjoy fond fan favorite favourite prefer preference adore favor keen passion interest appreciate into : love enjoy adore fan favorite favourite prefer fond passion keen obsessed crazy into best
like enjoy : like likes
prefer preference favorite favourite : favorite favourite prefer best preferred rather usual go-to
interest interested : interest interested into curious fascinated love hobby
hobby pastime : hobby weekend spare free love enjoy
dislike hate detest loathe : hate dislike detest loathe stand annoy bother can't
avoid : avoid eat drink allergic
want wish hope desire aim goal : want wish hope would like love dream goal aim looking aspire hoping
plan intend intention : plan planning intend going will want hoping aim decided
need require : need needs must have require required
marry marriage spouse partner wife husband wed wedding : married wife husband spouse wedding hubby
spouse partner : wife husband spouse married partner fiance fiancee girlfriend boyfriend
wife : wife
husband : husband hubby
engaged : engaged fiance fiancee proposed
fiance fiancee : engaged fiance fiancee
date dating relationship : girlfriend boyfriend dating seeing relationship partner
divorce separated : divorced divorce separated ex
single : single divorced
child children kid : child children kid kids son daughter baby toddler twins boy girl
daughter : daughter girl
son : son boy
baby : baby newborn
parent : mother father mom dad mum parent parents mama papa
mother mom mum : mother mom mum mama mommy
father dad : father dad papa daddy
parent father mother : kid child son daughter
grandmother grandma : grandma grandmother granny nana
grandfather grandpa : grandpa grandfather granddad
grandparent : grandma grandmother grandpa grandfather
sibling : brother sister sibling twin
brother : brother bro
sister : sister sis
family relative kin : mother father mom dad sister brother cousin aunt uncle family wife husband kid parent daughter son grandma grandpa nephew niece
friend : friend buddy pal mate bestie
neighbor neighbour : neighbor neighbour next door
roommate housemate : roommate housemate flatmate share
relationship : sister brother mother father friend wife husband boss colleague cousin
teach teacher instructor professor : teach teaching teacher taught instructor professor
study student degree major school university college education : study studying studied student degree major majoring school university college class course phd master bachelor enrolled graduate
learn study : learning learn studying study lesson class course
graduate : graduated graduate degree finished
speak fluent language bilingual : speak fluent bilingual language native
train practice exercise workout : train training practice practicing exercise workout gym run running jog swim lift yoga
run jog : run running jog jogging runner marathon
bike cycle bicycle : bike biking cycle cycling bicycle cyclist
drive car vehicle : drive driving car drives truck suv tesla
commute : commute drive train bus bike
walk hike : walk walking hike hiking
cook : cook cooking bake
travel trip visit vacation : travel trip visit visiting visited flying vacation holiday traveling went
visit : went visited visit been
attend : attend attending going went go
play : play playing player played
read : read reading reader
watch : watch watching saw seen
write author : write writing wrote author written
eat diet food consume : eat eating ate diet food meal
drink beverage : drink drinking drank
vegetarian : vegetarian veggie
vegan : vegan plant
sick ill illness condition disease diagnose health medical suffer : sick ill illness diagnosed disease condition suffer diabetes asthma migraine depression anxiety cancer celiac
diagnose : diagnosed diagnosis have
suffer have : suffer have got struggle
allergy allergic allergen : allergic allergy allergies allergen
medication medicine drug take : take taking medication medicine pill prescribed mg dose
prescribe : prescribed take
pain ache hurt injure injury : hurt hurts pain ache aching sore injured injury broke sprained tore
doctor physician : doctor physician dr
struggle difficulty trouble problem issue friction frustrate : struggle struggling hard difficult trouble problem issue annoying frustrating can't keep pain
sleep : sleep sleeping slept insomnia bed
wake : wake up waking woke
daily : day daily every morning night evening
weekly : week weekly every monday tuesday wednesday thursday friday saturday sunday weekend
monthly : month monthly every
yearly annual annually : year yearly every annual annually
habit regular regularly routine usually always often frequent frequently : every daily always usually often regularly habit each weekly routine tend
morning : morning am breakfast
evening night : evening night tonight pm dinner
birthday born birth : birthday born birth bday turn
age old year : old turn turning turned year years birthday age
live : home
email address contact : email mail address @
phone number contact : phone number call cell mobile
salary income earn pay wage : salary earn make paid income pay wage
cost price budget spend : cost price budget spend spent pay paid
amount total sum : total amount sum
rent : rent renting lease
mortgage loan : mortgage loan
lease rent : lease rent
project build develop create working : project build building develop developing create creating making working launch launching write writing app
launch release ship : launch launching release releasing ship shipping shipped launched live
deadline due : deadline due by until before
finish complete done : finish finished complete completed done
call phone contact : call phone ring contact reach
email write send : email send write mail
message text contact : message text ping write
send submit deliver : send submit deliver hand sent
meet meeting appointment : meet meeting met appointment see seeing call
schedule appointment book : schedule scheduled appointment book booked booking
remind remember : remind remember forget
big large : big large huge
small little : small little tiny
new : new just recent recently
mean involve : mean involve
use : use using used run
code program developer programmer engineer software : code coding program programming developer programmer engineer software dev
build : build building built making
leave quit resign : left leave leaving quit resigned
lose lost : lost lose losing
fire laid : fired laid layoff
rise increase grow growth up raise : rise rose risen increase increased grow grew growing growth up higher raise climbing
fall drop decrease decline down reduce shrink lower : fall fell fallen drop dropped decrease decreased decline declined down lower reduced cut shrinking
delay late slow slowdown : delay delayed late slow slowed behind waiting slowdown
miss late : missed miss missing
approve approval : approve approval approved sign signs
sell sale sales : sell sold sale sales selling
cause drive due result reason lead : because cause causes caused due drives driven result reason why lead leads
problem gap issue : problem gap issue issues
quarter : q1 q2 q3 q4 quarter
employee staff worker headcount : employee staff worker people operators headcount workers
team group department : team group department
percent percentage share : percent percentage share
revenue turnover : revenue turnover sales
profit margin : profit margin
ill : sick
happy glad : happy glad pleased
sad unhappy : sad unhappy
worry concern anxious nervous : worried worry concern concerned anxious nervous
tired exhausted : tired exhausted
busy : busy swamped
garden : garden gardening
photo photography picture : photo photography picture photographer
music instrument : music instrument guitar piano violin drums
member belong : member belong joined part
volunteer : volunteer volunteering
vote : vote voted
believe religion faith : believe religion faith church mosque temple
grow grew raise : grew raised up
retire : retired retire
owe debt : owe debt
lend borrow : lent lend borrow borrowed
"""


def _read_synonyms(lines: str) -> dict[str, frozenset[str]]:
    """Return, for each stem of a statement, the stems of a quote that support it; itself is left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in filter(None, lines.splitlines()):
        claimed, _, said = line.partition(" : ")
        for word in claimed.split():
            found[stem(word)] |= {stem(other) for other in said.split()}
    return {word: frozenset(said) for word, said in found.items()}


SYNONYMS = _read_synonyms(_SYNONYM_LINES)
"""Stems of a quote that support a stem of a statement, by the statement's."""

DERIVED_ENDINGS = frozenset(
    "er or ing ment ion ist ian ism ness ity al ic y ful able ation ition ed s es d r n ary ial ally ly an ant ent e i"
    .split()
)
"""What may follow the common beginning of two words for one to be derived from the other; "less" is a negation."""

QUANTIFIERS = {
    "all": "all every entire whole each always",
    "every": "all every each daily weekly monthly always",
    "everyone": "everyone everybody all every",
    "everybody": "everyone everybody all every",
    "everything": "everything all",
    "always": "always every all",
    "entire": "all entire whole",
    "whole": "all entire whole",
    "only": "only just sole solely except nothing",
    "solely": "only solely",
    "exclusively": "only exclusively",
    "most": "most majority mostly",
    "majority": "most majority",
    "both": "both two and",
    "each": "each every all both",
    "nobody": "nobody none no",
    "none": "none no nobody nothing",
    "constantly": "constantly always",
}
"""Words that widen a statement, each with the words of a quote that support it."""


def is_supported_by(claimed: str, said: str) -> bool:
    """Say whether a stem of a quote supports a stem of a statement: the same word, a derived one, or a synonym."""
    return claimed == said or said in SYNONYMS.get(claimed, ()) or is_derived(claimed, said)


def is_derived(one: str, other: str) -> bool:
    """Say whether two stems are forms of one word, such as "allergi" and "allerg", or "teacher" and "teach"."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    if shared < 4:
        return False
    ends = (one[shared:], other[shared:])
    return all(not end or end in DERIVED_ENDINGS for end in ends)
