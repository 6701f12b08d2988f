"""How people take something back, as patterns. Pure."""

from parlour.memory.facts.said_rules import Rule

ENDINGS: tuple[Rule, ...] = (
    Rule(
        r"^(?:please |pls |kindly )*(?:forget|erase|delete|don't (?:remember|keep)|do not (?:remember|keep)|stop"
          r" remembering)"
        r" (?:everything|all)(?: that)?(?: (?:about me|you (?:know|remember)(?: about me)?|i (?:said|told"
          r" you)(?: about me)?))?"
        r"(?=[.!]|$)",
        "everything", 0.95, kind="free",
    ),
    Rule(r"^(?:please |pls |kindly )*(?:(?:forget|don't remember|erase|delete) (?:what|that) i (?:just )?(?:said"
         r"|told you)"
         r"|(?:forget|don't remember) (?:that|this)|please forget it)(?: please)?[.!]*$",
         "", 0.9, as_said="", kind="free"),
    Rule(r"(?:^|[,;] |\b(?:so|and|but) )(?:please |pls |kindly )*(?:forget|erase|delete|remove|don't (?:remember"
         r"|keep|store|use)"
          r"|do not (?:remember|keep|store|use)|stop using) (?:about )?(?:my|our) {v}", "", 0.92),
    Rule(r"^(?:please |pls |kindly )*(?:forget|ignore|disregard|drop|scrap) (?:about )?(?:the|that|my)"
         r" {bare} (?:thing|rule|bit|part|preference|instruction|request)s?\b", "", 0.88),
    Rule(r"^(?:please |pls |kindly )*(?:forget|ignore|disregard|drop|scrap) (?:about )?(?:my|(?:the|those)"
         r"(?=[^.!?;]* (?:i|we) (?:gave|told|said|mentioned|wanted))) {v}", "", 0.88),
    Rule(r"^(?:please |pls |kindly )*(?:forget|ignore|disregard|drop|scrap) (?:about )?(?:the|those) {v}", "", 0.88,
         kind="worded"),
    Rule(r"^(?:please |pls |kindly )*(?:forget|ignore|disregard)(?: what i (?:said|told you) about| that (?:i|my"
          r"|we)(?:'m|'ve)?"
          r"| about) {v}", "", 0.9),
    Rule(r"\b(?:i|we) no longer (?:care|mind)(?: about)? (?:which|what|how|the) {bare}"
         r"(?=\s+(?:my|our|we|i|they|it|he|she|you)\b|\s*(?:[.,;!?]|$))", "", 0.88),
    Rule(r"\b(?:i|we)(?:'m| am|'re| are)? no longer (?:an? |have an? |have |in |on |at |with |live in |work"
          r" (?:at|for) |use "
          r"|like |need |want |eat |drink |drive |own )*{v}", "", 0.9),
    Rule(r"\b(?:i|we) (?:don't|do not) (?:live in|work (?:at|for)|have|use|like|need|want|eat|drink|drive|own)"
          r" (?:an? |the )?"
          r"{bare} any ?more\b", "", 0.9),
    Rule(r"\b(?:i'm|i am|we're|we are) not (?:an? |in |on |at |with |working (?:at|for) )*{bare} any ?more\b", "", 0.9),
    Rule(r"\b{have} (?:just |recently )?(?:left|quit|resigned from) (?:my |our |the )?(?P<v>jobs?|position|role|company"
         r"|firm|employer)\b", "", 0.85),
    Rule(r"\b{have} (?:just |recently )?(?:left|quit|resigned from) (?:my |our |the )?{v}", "company", 0.85),
    Rule(r"\b{have} (?:just |recently )?(?:stopped using|stopped (?:eating|drinking)"
          r"|given up|gave up"
          r"|sold|cancelled|canceled) (?:my |our |the |an? )?{v}", "", 0.85),
    Rule(r"\bmy {bare} (?:is|are) (?:no longer (?:valid|current|relevant|true)|not (?:valid|current|relevant"
          r"|true) any ?more)", "",
          0.9),
    Rule(r"\b(?:i'm|i am) (?:no longer|not) allergic to {v}", "allergy", 0.92),
)  # fmt: skip
