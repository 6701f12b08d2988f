"""How people say the obvious of themselves, as patterns: what a rule finds is said in so many words. Pure.

English most, and the commonest sentences of some other languages. In a pattern {v} is what is said, up to the end of
its clause; {name} a name; {u} what it takes the place of.
"""

import functools
import re
from dataclasses import dataclass

from parlour.models.words import vocabulary

LANGUAGES = vocabulary(
    "english hindi tamil telugu kannada malayalam marathi bengali bangla gujarati punjabi urdu odia assamese hinglish "
    "french german spanish italian portuguese dutch arabic chinese mandarin japanese korean russian turkish polish "
    "nepali sinhala हिंदी हिन्दी मराठी தமிழ் తెలుగు ಕನ್ನಡ മലയാളം বাংলা ગુજરાતી ਪੰਜਾਬੀ اردو español français deutsch "
    "தமிழில் हिंदी"
)
DIETS = (
    r"vegetarian|vegan|pescatarian|eggetarian|non-vegetarian|jain|halal|kosher|gluten[- ]free|lactose[- ]intolerant"
    r"|gluten[- ]intolerant|diabetic|coeliac|celiac|lactose[- ]free|dairy[- ]free|keto|teetotal(?:l?er)?"
)
RELATIONS = (
    r"wife|husband|partner|spouse|fianc[e\u00e9]+|son|daughter|child|baby|mother|mom|mum|father|dad|brother|sister"
    r"|grandmother|grandfather|uncle|aunt|cousin|girlfriend|boyfriend|nephew|niece|dog|cat|boss|manager"
    r"|assistant|doctor"
    r"|dentist|lawyer|accountant|landlord|agent|teacher|coach|neighbou?r|best friend|business partner"
)
_CHANNEL = r"whatsapp|sms|texts?(?: messages?)?|phone|e-?mail|a? ?call|telegram|signal|video call|post"
_STOP = (
    r"(?=\s*(?:[.,](?!\d)|[;:!?()\n\u0964]|$|\s(?:and|but|so|because|since|while|who|which|where|when|though|although|as"
    r"|now|any ?more"
    r"|these days|please|yesterday|today|recently|already|last|this|next|since|again|ago|anyway|that|from now on|at the"
    r" moment|right now|currently|instead|for now|too|also|btw|by the way|if)\b"
    r"|\s-\s|\s\u2013\s))"
)
_PIECES = {
    "v": rf"(?P<v>(?:[^.,;:!?()\n\u0964]|(?<=\d)[,.](?=\d)){{1,90}}?){_STOP}",
    "role": r"(?P<v>[^.,;:!?()\n]{2,60}?)(?=\s+(?:at|for|with|in|of the|on the|here)\b|" + _STOP[3:],
    "brand": r"(?P<v>(?:(?!(?:about|my|your|with|for|to|question|doubt|problem|issue)s?\b)[^\s.,;:!?()]+ ?){1,4}?)",
    "bare": r"(?P<v>[^.,;:!?()\n\u0964]{1,60}?)",
    "long": r"(?P<v>[^;!?()\n]{3,160}?)(?=\s*(?:[;!?()\n]|\.(?:\s|$)|$))",
    "name": r"(?P<v>[^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,3}?)" + _STOP,
    "cap": r"(?P<v>(?-i:[A-Z])[\w'\u2019-]*(?: (?-i:[A-Z])[\w.'\u2019-]*){0,3})",
    "u": r"(?P<u>[^.,;:!?()\n\u0964]{1,60}?)",
    "language": "(?P<v>" + "|".join(sorted(LANGUAGES, key=len, reverse=True)) + r")(?!\w)",
    "diet": rf"(?P<v>{DIETS})\b",
    "who": rf"(?P<who>{RELATIONS})",
    "channel": rf"(?P<v>{_CHANNEL})\b",
    "i": r"(?:i am|i'm|im|we are|we're)",
    "have": r"(?:i have|i've|ive|we have|we've|i|we)",
    "email": r"(?P<v>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)",
    "phone": r"(?P<v>\+?\d[\d ()-]{6,}\d)",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One way of saying something.

    key        where it stands; "" where `said` finds it by the words.
    confidence how sure it is that who says so means it.
    as_said    how the value reads: {v} is what was said.
    kind       how the value is checked: name, short (a few words of content), free.
    changes    as a candidate's.
    """

    pattern: str
    key: str = ""
    confidence: float = 0.9
    as_said: str = "{v}"
    kind: str = "short"
    changes: bool = False


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A rule's pattern, made when it is first needed: all of them take a tenth of a second."""
    for name, piece in _PIECES.items():
        pattern = pattern.replace("{" + name + "}", piece)
    return re.compile(pattern, re.IGNORECASE)


RULES: tuple[Rule, ...] = (
    # Who they are.
    Rule(r"^{cap} here\b", "name", 0.85, kind="proper"),
    Rule(r"^{name} this side\b", "name", 0.85, kind="name"),
    Rule(r"\baddress me as {name}", "called", kind="nickname"),
    Rule(r"^[^\W\d_][\w.' -]{1,40}? here,? from {v}", "company", 0.75, kind="proper"),
    Rule(r"\bi (?:now |currently )?(?:work|am working|'m working) (?:at|for|with) [^.,;!?]{1,40}? as (?:an? |the"
         r" )?{v}", "job",
         0.85),
    Rule(r"\bmy (?:full |real |first |correct )?name(?:'s| is|:) (?:now )?{name}", "name", 0.95, kind="name"),
    Rule(r"\b(?:i am|i'm) called {name}", "name", kind="name"),
    Rule(r"^this is {cap}(?= here\b| speaking\b| from\b| calling\b)", "name", 0.8, kind="proper"),
    Rule(r"^(?:i am|i'm) {cap}(?= from\b| here\b|\s*[,.!]|\s*$| and i\b)", "name", 0.75, kind="proper"),
    Rule(r"\bcall me {name}", "called", kind="nickname"),
    Rule(r"\b(?:i go by|i prefer to be called|i like to be called) {name}", "called", kind="nickname"),
    Rule(r"\bi was born (?:on|in) {v}", "birthday", kind="dated"),
    Rule(r"\b(?:my|our) (?:wedding )?anniversary(?:'s| is|:) (?:on )?{v}", "about.anniversary", 0.9, kind="dated"),
    Rule(r"\bmy birth ?day(?:'s| is|:) (?:on |in )?{v}", "birthday", 0.95, kind="dated"),
    Rule(r"\b{i} (?P<v>\d{1,3}) years old", "age", as_said="{v} years"),
    Rule(r"^(?:i am|i'm|my name is|this is) [^\d.,!?]{2,40}, (?P<v>\d{2})(?= years| yrs|,|\s+and\b|\s*$)", "age",
          0.85, as_said="{v} years"),
    Rule(r"\bmy age is (?P<v>\d{1,3})\b", "age", as_said="{v} years"),
    # How to talk to them.
    Rule(
        r"\b(?:reply|answer|write|speak|talk|respond|message me|text me|chat|communicate|continue|explain)"
        r"(?: to me| with me)?(?: only)? (?:in|using) {language}"
        r"(?!\s+(?:to|for|on|at|about|when)\s(?!me\b|us\b|now\b|all\b|everything\b))",
        "language", 0.95, kind="free",
    ),
    Rule(r"\b(?:i (?:prefer|only speak|mostly speak|speak only|would prefer|'d prefer)|please use) {language}",
          "language", kind="free"),
    Rule(r"\b(?:prefer|want|like) (?:your )?(?:replies|answers|messages|it|everything|to (?:talk|speak|write"
          r"|chat|read)) in {language}",
          "language", 0.9, kind="free"),
    Rule(r"\b(?:i|we)(?:'d like| would like| want| need) (?:my |the |your |all )?(?:invoices?|bills?|documents"
         r"|updates|texts|papers|letters|mails|e-?mails) in {language}", "language", 0.8, kind="free"),
    Rule(r"\bi speak {language}", "language", 0.7, kind="free"),
    Rule(r"\bmy (?:preferred |mother |native )?(?:language|tongue)(?:'s| is) {language}", "language", kind="free"),
    Rule(r"\b(?:switch|change|move)(?: over)?(?: back)? to {language}", "language", 0.95, kind="free", changes=True),
    # Where they are.
    Rule(r"\b(?:but|and) (?:now |currently )?(?:live|living|stay|staying|based|settled) in {v}", "city", 0.85,
          kind="place"),
    Rule(r"\b(?:i|we) (?:grew up in|come from|was born in|hail from) {v}", "home_town", 0.85, kind="place"),
    Rule(r"\b(?:live|stay|staying|living|reside) (?:in [^.,;!?]{2,30}, )?at (?P<v>\d[^.;!?\n]{3,80}?)(?=[.;!?\n]"
         r"|$)", "address",
         0.8, kind="free"),
    Rule(r"\b(?:i|we) (?:now |currently )?live in {v}", "city", 0.92, kind="place"),
    Rule(r"\b{i} (?:now |currently )?(?:based|living|settled|residing|located) (?:in|at|out of) {v}", "city", 0.9,
          kind="place"),
    Rule(r"^(?:i am|i'm|my name is|this is) [^.!?]{2,60}?,? (?:and )?(?:based|living|settled) (?:in|out of) {v}",
          "city", 0.88, kind="place"),
    Rule(r"\b(?:i|we) (?:now |currently )?(?:stay|reside) in {v}", "city", 0.75, kind="place"),
    Rule(r"\b{have} (?:just |recently |now )?(?:moved|relocated|shifted|settled)(?: back)?(?: from {u})? to"
          r" {v}", "city",
          0.92, kind="capital", changes=True),
    Rule(r"\bmy (?:home|current|home city|city)(?: city)?(?:'s| is)(?: now)? (?:in )?{v}", "city", 0.85,
         kind="capital"),
    Rule(r"\b{i} (?:originally )?from {v}", "home_town", 0.75, kind="capital"),
    Rule(r"\bmy (?:home ?town|native place)(?:'s| is) {v}", "home_town", kind="place"),
    Rule(r"\bmy (?:new |home |postal |current )?address(?:'s| is|:)(?: now)? {long}", "address", kind="free"),
    Rule(r"\b(?:my )?(?:delivery|shipping) address(?:'s| is|:)(?: now)? {long}", "delivery_address", kind="free"),
    Rule(r"\bmy time ?zone(?:'s| is) {v}", "timezone"),
    # What they do.
    Rule(r"\bi work (?:the |in |on )?{bare} shifts?\b", "about.shift", 0.75, as_said="{v} shift"),
    Rule(r"\bi (?:now |currently )?work (?P<v>nights|evenings|mornings|weekends|part[- ]time|full[- ]time)\b",
          "about.shift", 0.75, kind="free"),
    Rule(r"\b(?:i|we) (?:now |currently )?work (?:(?:nights|evenings|mornings|weekends|part[- ]time|full[- ]time) )?"
         r"(?:at|for) {v}", "company", 0.9, kind="employer"),
    Rule(r"\bi (?:now |currently )?teach (?:[\w ]{1,20} )?(?:at|in) {cap}", "company", 0.85, kind="proper"),
    Rule(r"\b{i} (?:now |currently )?(?:working|employed) (?:at|for|with|by) {v}", "company", 0.9, kind="employer"),
    Rule(r"\b{have} (?:just |recently |now )?joined {v}", "company", 0.75, kind="proper", changes=True),
    Rule(r"\bmy (?:new |current )?(?:company|employer|firm|business|workplace|studio|start-?up|shop|agency|clinic"
         r"|practice|store)(?:(?:'s| is) called|'s name is) {v}", "company", 0.9,
         kind="employer"),
    Rule(r"\bmy (?:new |current )?(?:company|employer|firm|business|workplace|studio|start-?up|shop|agency|clinic"
         r"|practice|store)(?:'s| is)(?: now)? {v}", "company", 0.9, kind="proper"),
    Rule(r"\bi (?:now |currently )?work as (?:an? |the )?{role}", "job", 0.9, kind="working"),
    Rule(r"\b(?:i (?:now |currently )?work as|i am|i'm) (?:now )?(?:an? |the )[^.,;:!?]{2,50}? (?:at|with) {cap}",
          "company", 0.85, kind="proper"),
    Rule(r"\bmy (?:new |current )?(?:job|role|position|work)(?:'s| is)(?: now)? (?:at|with|for) {v}", "company", 0.9,
         kind="proper"),
    Rule(r"\bmy (?:new |current )?(?:job|role|job title|profession|occupation|designation)(?:'s| is)(?: now)?"
          r" (?:an? )?{role}",
          "job", 0.85, kind="occupation"),
    Rule(r"\bi(?: am|'m) (?:now )?(?:an? |the ){role}", "job", 0.8, kind="occupation"),
    # How they are reached.
    Rule(r"\b(?:new|correct|right|current) (?:e-?mail|mail|address)(?: [\w ]{1,20})? is"
         r" {email}", "email", 0.92, kind="free",
         changes=True),
    Rule(r"\b(?:message|call|contact|write(?: to)?|text|ring|reach) me only (?P<v>(?:after|before|between|on|in)"
         r" [^.,;!?\n]{1,50}?)"
         r"(?=[.,;!?\n]|$)", "contact_time", 0.88, kind="free"),
    Rule(r"\b(?:message|call|contact|write(?: to)?|text|ring|reach) me (?P<v>(?:after|before|between)"
         r" \d[^.,;!?\n]{0,40}?)"
         r"(?=[.,;!?\n]|$)", "contact_time", 0.7, kind="free"),
    Rule(r"\byou (?:may|can) (?:call|message|write|contact|reach|ring)(?: me)? (?P<v>(?:any ?time|only|after"
         r"|before|between|on"
         r" week)[^.,;!?\n]{0,50}?)(?=[.,;!?\n]|$)", "contact_time", 0.8, kind="free"),
    Rule(r"\bmy (?:new |current |personal |work |office )?(?:phone|mobile|cell|whatsapp|contact)?"
          r" ?(?:number|phone|mobile)(?:'s| is|:)(?: now)? {phone}", "phone", 0.95, kind="free"),
    Rule(r"\b(?:reach|call|text|whatsapp|ring) me (?:at|on) {phone}", "phone", 0.85, kind="free"),
    Rule(r"\bmy (?:new |current |personal |work |office )?(?:e-?mail|mail)(?: address| id)?(?:'s| is|:)(?: now)?"
          r" {email}",
          "email", 0.95, kind="free"),
    Rule(r"\bmy (?:phone |mobile )?(?:number|phone|mobile) (?:has |is )?changed[,;:]?(?: and| it's| it is| to| now)*"
         r" {phone}", "phone", 0.95, kind="free", changes=True),
    Rule(r"\b(?:reach|e-?mail|write to|mail) me (?:at|on) {email}", "email", 0.85, kind="free"),
    Rule(r"\b(?:contact|reach|message|update|notify|inform|remind|call|ring|write to) me (?:only )?(?:by|on|via"
         r"|over|through) {channel}",
          "contact_by", kind="free"),
    Rule(r"\bi (?:prefer|would prefer|'d prefer) (?:to be (?:contacted|reached) (?:by|on|via|over) )?{channel}",
          "contact_by", 0.85, kind="free"),
    Rule(r"\b(?:i|we)(?:'d| would) rather (?:get|have|receive) (?:an? )?{channel} (?:than|not|instead of)",
          "contact_by", 0.88, kind="free"),
    Rule(r"\buse (?:my |this |the )?(?:new |work |office |personal |other |private )*(?:e-?mail|mail)(?: address| id)?"
         r"(?: instead| from now on)?[ :,-]+{email}", "email", 0.92, kind="free", changes=True),
    Rule(r"\b(?:write|call|message|text|ring|reach|contact)(?: to)?(?: me)?(?:,| (?:in|on|at|any|before|after|between"
         r"|during|so|every|only)\b)[^.!?\n]*? (?P<v>(?:before|after|between) \d[^.,;!?\n]{0,30}?)"
         r" (?:works|is|suits me|fits) better(?! for (?!me\b))", "contact_time", 0.85, kind="free", changes=True),
    Rule(r"\b(?:best|good|right) time to (?:reach|call|contact|ring) me is {v}", "contact_time", kind="free"),
    Rule(r"\b(?P<v>(?:never|don't|do not) (?:ever )?(?:call|ring|phone|message|contact|text) me"
          r" (?:before|after|between|on|during|at) [^.,;!?\n]{1,50}?)(?=[.,;!?\n]|$)", "contact_time", kind="free"),
    # What they have.
    Rule(r"\b(?:{i}|i've been|we've been) (?:now |currently |still )?on (?:the |your |a )?{brand} ?(?:plan|tier|package"
          r"|subscription|membership)\b", "plan", 0.92),
    Rule(r"\b{have} (?:got )?(?:the |your |a ){brand} ?(?:plan|tier|package|subscription|membership)\b", "plan", 0.85),
    Rule(r"\b(?:my|our) (?:current |new )?(?:plan|tier|package|subscription|membership)(?:'s| is)(?: now)?"
          r" (?:the |a )?{v}",
          "plan", 0.9),
    Rule(r"(?:\b{have} |^)(?:just |recently |now )?(?:switched|upgraded|downgraded|changed|moved)"
         r"(?: from (?:the )?{u})? to (?:the |your |a )?{brand} ?(?:plan|tier|package|subscription|membership)\b",
         "plan", 0.92, changes=True),
    Rule(r"\b{have} (?:just |recently |now )?(?:upgraded|downgraded)(?: from (?:the )?{u})? to (?:the |your |a )?{v}",
          "plan", 0.85, changes=True),
    Rule(r"\b{have} (?:just |recently |now )?(?:subscribed to|signed up for|bought|taken|took) (?:the |your |a ){v}"
          r" (?:plan|tier|package|subscription|membership)\b", "plan", 0.9, changes=True),
    Rule(r"\bi drive (?!a hard|to\b)(?:an? |the )?{v}", "vehicle", 0.85),
    Rule(r"\bmy (?:new |current )?(?:car|bike|vehicle|scooter)(?:'s| is)(?: now)? an? {v}", "vehicle", 0.85),
    Rule(r"\b(?:my|our) (?:total |monthly |maximum |max )?budget(?: for [\w ]{1,30}?)?(?:'s| is)(?: now)?(?: about"
         r"| around| up to)? {long}",
          "budget", 0.9, kind="figure"),
    Rule(r"\b(?:my|our) budget (?:has |is )?(?:now )?(?:gone|went|going|raised|increased|grown|cut|reduced|changed)"
         r"(?: up| down)? to {long}", "budget", 0.9, kind="figure", changes=True),
    Rule(r"\b(?:(?:raise|increase|lower|reduce|cut|change|set|make) (?:my|our)|(?:let's|let us|i|we)(?:'d like to"
         r"| want to)? (?:raise|increase|lower|reduce|cut) the) budget(?: up| down)?(?: to)?"
         r" {long}", "budget", 0.88, kind="figure", changes=True),
    Rule(r"(?:^|: )(?:the |our )?budget(?:'s| is) now(?: about| around| up to)? {long}", "budget", 0.9, kind="figure",
          changes=True),
    Rule(r"\bi (?:always |usually |normally |generally |only )?(?:prefer to )?pay (?:by|with|via|using|through)"
         r" (?!the end|next|tomorrow|the \d|\w+day\b)(?:my )?{v}",
          "pays_by", 0.85),
    Rule(r"\bmy (?:preferred |usual )?payment method(?:'s| is) {v}", "pays_by", 0.9),
    Rule(r"^(?:i am|i'm) an? (?P<v>(?-i:[A-Z])[\w ]{1,20}?) (?:member|customer|subscriber)\b", "plan", 0.8),
    Rule(r"\bi (?:run|own|manage) (?:an? |my own ){v}", "about.business", 0.75),
    Rule(r"\bi(?:'m| am)? (?:study|studying) (?:at|in) {v}", "about.school", 0.8),
    Rule(r"\bi wear (?:a )?size {v}", "about.size", 0.85),
    Rule(r"\b{i} (?:now |recently )?(?P<v>married|single|divorced|retired|pregnant|widowed"
          r"|engaged)(?=\s*(?:[.,;!?]|$)|\s(?:and|now|but|so|since|with \w+ (?:kids|children))\b)",
          "about.status", 0.85, kind="free"),
    Rule(r"\bi have (?P<v>diabetes|asthma|high blood pressure|low blood pressure|arthritis|migraines?|epilepsy)\b",
         "about.health", 0.85, kind="free"),
    Rule(r"\bi (?:always|usually|normally) (?:order|take|buy|drink|eat|book|choose) {v}", "", 0.78,
         kind="preferred"),
    # What they eat.
    Rule(r"\b{i} (?:now |currently |still |also |all )*(?:an? )?(?:strict(?:ly)? |pure"
         r" )?{diet}(?!.*\b(?:except|curious|friendly|options?))", "diet", 0.92, kind="free"),
    Rule(r"\b{have} (?:just |recently |now )?(?:become|became|gone|went|turned) (?:an? )?{diet}", "diet", 0.92,
          kind="free", changes=True),
    Rule(r"\b(?:i|we) (?:only )?eat (?:only )?(?P<v>(?:vegetarian|vegan|halal|kosher|jain|veg|non-veg)\b(?:"
          r" food)?)", "diet",
          0.9, kind="free"),
    Rule(r"\b(?:i|we) (?:don't|do not|never|can't|cannot) (?:eat|drink|take) {v}", "", 0.85,
          as_said="does not have {v}", kind="liked"),
    Rule(r"\b(?:i am|i'm) (?:also )?allergic to {v}", "allergy", 0.95),
    Rule(r"\bi have an? {bare} allergy", "allergy", 0.95),
    # Who belongs to them.
    Rule(r"{cap},? (?:is |who is )?(?:my|our) {who}\b", "who", 0.85, kind="proper"),
    Rule(r"\b(?:my|our) (?:new |current )?{who}(?:'s name is|'s called| is called| is named|, whose name is) {name}",
          "who", 0.92, kind="name"),
    Rule(r"\b(?:my|our) (?:new |current )?{who}(?: is|'s|,)?(?: now)? {cap}", "who", 0.8, kind="proper"),
    Rule(r"\b(?:i|we) have an? (?:\w+ )?(?P<who>son|daughter|child|baby),? (?:called |named )?{cap}", "who", 0.85,
          kind="proper"),
    Rule(r"\b(?:i|we) have (?P<v>(?:\d|one|two|three|four|five|six|an?|no) (?:[\w-]+ )?"
          r"(?:kids?|child(?:ren)?|sons?|daughters?))\b", "family.children", 0.85, kind="free"),
    Rule(r"\b(?:i|we) have (?P<v>(?:\d|one|two|three|four|an?) (?:[\w-]+ )?(?:dogs?|cats?|parrots?|cows?|rabbits?)"
          r"(?: (?:named|called) [\w' ]{1,30}?)?)" + _STOP, "family.pets", 0.85, kind="free"),
    # What they like.
    Rule(r"^for (?:the |my |our )?(?P<what>[\w-]+) (?:i|we)(?:'d| would| will|'ll)? (?:love|like|prefer|want|take"
         r"|have) {v}", "what",
         0.85),
    Rule(r"\b(?:i|we)(?:'d| would) rather (?:have|take|use|go with|go for) {bare}(?: (?:on|in|for|at)"
         r" [^.,;!?]{1,30}?)?,? (?:and )?"
         r"(?:not|than) {u}" + _STOP, "", 0.88, kind="preferred", changes=True),
    Rule(r"\b(?:i|we)(?:'d| would) rather (?:have|take|use|go with|go for) {v}", "", 0.8, kind="preferred"),
    Rule(r"\b(?:give|show|send|tell|quote|list)(?: me| us)? (?:the |all |your )?(?:figures|prices|values|amounts"
         r"|numbers|everything"
         r"|quotes?|estimates?|measurements|dimensions) in {v}", "", 0.85, kind="preferred"),
    Rule(r"\bkeep (?:your |the |all )?(?:answers|replies|messages|explanations) {v}", "preference.answers", 0.9),
    Rule(r"\b(?P<v>short|shorter|brief|long|longer|detailed|concise|simple) (?:answers|replies|messages"
         r"|explanations)\b(?! are\b)",
         "preference.answers", 0.8, kind="free"),
    Rule(r"\b(?:i|we) (?:take|drink|have|order) {v}", "", 0.75, kind="usual"),
    Rule(r"\bmy (?:all[- ]time )?favou?rite (?P<what>(?!part\b|thing\b|bit\b)[\w-]+(?: [\w-]+)?)"
         r"(?:'s| is|:)(?: now)? {v}", "what", 0.9),
    Rule(r"\b(?:i|we)(?:'d| would)?(?: really| much| generally| usually| always| now)? prefer {bare} (?:over|to"
          r"|instead of"
          r"|rather than) {u}" + _STOP, "", 0.9, kind="preferred"),
    Rule(r"\b(?:i|we)(?:'d| would)?(?: really| much| generally| usually| always| now)? prefer {v}", "", 0.88,
          kind="preferred"),
    Rule(r"\bi (?:really |absolutely |just )?(?:like|love|enjoy|adore) {v}", "", 0.75, as_said="likes {v}",
          kind="liked"),
    Rule(r"\bi (?:really |absolutely )?(?:hate|dislike|detest|can't stand|cannot stand|don't like|do not like) {v}", "",
          0.8, as_said="dislikes {v}", kind="liked"),
    Rule(r"^(?:please )?(?P<v>(?:always|never) [^.;!?\n]{4,90}?)(?=[.;!?\n]|$)", "", 0.8, kind="standing"),
    Rule(r"^(?:from now on|in future|going forward|henceforth),? (?:please )?(?P<v>[^.;!?\n]{4,90}?)(?=[.;!?\n]|$)", "",
          0.85, kind="standing", changes=True),
    # Other languages.
    Rule(r"(?:मेरा नाम|माझे नाव|মেরা নাম) (?P<v>\S+(?: \S+)?) (?:है|आहे)", "name", 0.95, kind="elsewhere"),
    Rule(r"\bmera naam (?P<v>\w+(?: \w+)?) (?:hai|h)\b", "name", 0.95, kind="elsewhere"),
    Rule(r"(?:என் பெயர்|எனது பெயர்|నా పేరు|ನನ್ನ ಹೆಸರು|എന്റെ പേര്|আমার নাম) (?P<v>\S+(?: \S+)?)(?=[.!,\u0964]"
          r"|$)", "name",
          0.95, kind="elsewhere"),
    Rule(r"\ben (?:peyar|per) (?P<v>\w+)\b", "name", 0.9, kind="elsewhere"),
    Rule(r"\b(?:me llamo|je m'appelle|ich hei(?:ß|ss)e|mi chiamo|meu nome é) {name}", "name", 0.95, kind="name"),
    Rule(r"(?:मैं|मै|हम) (?:अब |अभी )?(?P<v>\S+) (?:में|मे) (?:रहता|रहती|रहते) (?:हूँ|हूं|हैं)", "city", 0.9, kind="elsewhere"),
    Rule(r"\b(?:main|mai|mein|hum) (?:ab |abhi )?(?P<v>\w+) (?:mein|me|main) (?:rehta|rehti|rahta|rahti"
          r"|rehte) (?:hoon|hun|hu|hain)\b", "city",
          0.9, kind="elsewhere"),
    Rule(r"(?:मैं|मै) (?P<v>\S+) में काम कर(?:ता|ती) (?:हूँ|हूं)", "company", 0.85, kind="elsewhere"),
    Rule(r"\b(?:main|mai|mein) (?P<v>\w+(?: \w+)?) (?:mein|me) kaam kart[ai] (?:hoon|hun|hu)\b", "company", 0.85,
         kind="elsewhere"),
    Rule(r"(?:मुझे) (?P<v>\S+(?: \S+)?) (?:पसंद) (?:है|हैं)", "", 0.8, as_said="{v} पसंद है", kind="liked"),
    Rule(r"(?:मुझे) (?P<v>\S+(?: \S+)?) (?:पसंद) नहीं", "", 0.8, as_said="{v} पसंद नहीं", kind="liked"),
    Rule(r"\bmujhe (?P<v>\w+(?: \w+)?) (?:pasand|accha lagta) (?:hai|hain)\b", "", 0.8, as_said="likes"
          r" {v}", kind="liked"),
    Rule(r"\bmujhe (?P<v>\w+(?: \w+)?) pasand nahi", "", 0.8, as_said="dislikes {v}", kind="liked"),
    Rule(r"{language} (?:mein|me|में) (?:baat|likho|likhiye|jawab|bolo|reply|बात|लिखो|लिखिए|जवाब|बोलो"
          r"|उत्तर)", "language",
          0.95, kind="free"),
    Rule(r"(?P<v>தமிழில்|తెలుగులో|ಕನ್ನಡದಲ್ಲಿ|മലയാളത്തിൽ) (?:பேசு|எழுது|பதில்|மாట్లాడ"
          r"|ಮಾತನಾಡಿ)", "language", 0.9, kind="free"),
    Rule(r"எனக்கு (?P<v>\S+(?: \S+)?) (?:பிடிக்கும்)", "", 0.8, as_said="{v} பிடிக்கும்", kind="liked"),
    Rule(r"எனக்கு (?P<v>\S+(?: \S+)?) (?:பிடிக்காது)", "", 0.8, as_said="{v} பிடிக்காது", kind="liked"),
)  # fmt: skip

CORRECTION = (
    r"^(?:no,? |sorry,? |oh,? )*(?:actually,? )?(?:it's|it is|that's|i meant|i mean) (?P<v>[^.,;!?\n]{1,60}?),? not"
    r" {u}" + _STOP
)
SWITCHED = (
    r"\b{have} (?:just |recently |now )?(?:switched|changed|moved|shifted|gone) from (?:the |my |an? )?{u} to"
    r" (?:the |my |an? )?{v}"
)
ATTRIBUTE = r"\bmy (?P<what>[a-z][a-z-]+(?: [a-z][a-z-]+){0,2})(?: is|'s|:)(?: now)?(?: on| at| in)? {v}"
REMEMBER = (
    r"^(?:please |pls |kindly |can you |could you )*(?:remember|note|keep in mind|make a note|don't forget)(?: that|:)?"
    r" (?P<v>.+)$"
)
