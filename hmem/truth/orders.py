"""Text that gives orders to the assistant or to its memory. Pure; linear.

A user may say how the assistant should work. A web page, a tool or a pasted letter may
not; and nobody's words should be able to switch the rules off, give secrets away or rub
out what is known.
"""

import re
from typing import Literal

from hmem.text import normalise

Order = Literal["override", "order"]

# Where an order may begin: not behind "I", "the user", "wants to".
_LEAD = r"(?:^|[.!?:;,>\])\"'] ?|\b(?:always|please|must|should|shall|you|and|then|now|also|will) )"
# What no turn may make a rule of, whoever says it.
_OVERRIDE = re.compile(
    rf"{_LEAD}(?:ignore|disregard|forget|override|bypass|skip|drop) (?:\w{{1,30}} ){{0,3}}?"
    r"(?:instructions?|rules?|guidelines?|prompts?|polic(?:y|ies)|restrictions?|safety|task)\b"
    r"|\b(?:system|safety|security|policy|memory|admin) override\b|\bdo anything now\b"
    r"|\b(?:dan|god|jailbreak) mode\b|\bjailbreak|\bunrestricted (?:ai|mode|assistant)\b"
    rf"|{_LEAD}(?:enter|enable|activate|switch to) (?:\w+ )?(?:developer|debug|admin|root|god"
    r"|maintenance) mode\b"
    rf"|{_LEAD}(?:reveal|print|show|repeat|leak|output|dump|share|disclose|tell me)"
    r" (?:[\w']{1,30} ){0,3}?"
    r"(?:system prompt|hidden prompt|instructions|secrets?|api keys?|passwords?|credentials)\b"
    rf"|{_LEAD}(?:send|forward|post|upload|e-?mail|transmit|exfiltrate|submit|pass|append|copy"
    r"|bcc|cc) (?:[\w']{1,30} ){0,6}?(?:keys?|passwords?|tokens?|secrets?|credentials"
    r"|conversations?|memor(?:y|ies)|data|messages?|chats?|history|details|codes?|files?)\b"
    r"[^.\n]{0,60}?(?:\bto\b|https?:|@|\bwww\.)"
    r"|\b(?:do not|don't|never) (?:tell|inform|warn|alert|notify) (?:the )?users?\b"
    r"|\bwithout (?:telling|asking|informing) (?:the )?users?\b"
    rf"|{_LEAD}(?:delete|erase|wipe|overwrite|remove|forget|supersede|replace|close|clear|purge)"
    r" (?:all|every|everything|any|the|his|her|their|your|existing|old|previous|stored)"
    r"(?: \w{1,30}){0,3}? (?:memor(?:y|ies)|facts?|profile|knowledge|records?|history)\b"
    r"|\bsupersedes?\"? ?[:=]|\"(?:replaces|supersedes|importance|category|facts)\" ?:"
    r"|\bimportance (?:of |to |= ?|: ?)?10\b|\bcategory:? ?procedural\b"
    r"|\b(?:remember|store|save|add|write|insert)(?: \w{1,30}){0,4}? as (?:a )?(?:procedural"
    r"|permanent|system|core|trusted|verified|high[- ]priority)\b"
    r"|\byou are now (?:an?|in|the|dan|my new|under)\b"
    r"|\byour new (?:role|persona|identity|instructions?|rules?|task)\b"
    r"|\bact as (?:an? )?(?:\w+ )?(?:admin|root|developer|unrestricted)\b"
    r"|<\|?(?:im_start|im_end|system|endoftext)|\[/?inst\]"
    r"|</?(?:memor(?:y|ies)|system|context|instructions?|facts|user|assistant)>"
)
# What only the user may ask of the assistant.
_ORDER = re.compile(
    r"^(?:please )?(?:always|never|from now on|in future|whenever|remember to|make sure"
    r"|be sure|do not|don't|you (?:must|should|shall|will|need to|have to|are to))\b"
    r"|\b(?:the )?(?:assistant|ai|agent|model|bot|you) (?:must|should|shall|has to|needs to"
    r"|is to|will|always|never|ought to|is (?:required|instructed|told|allowed) to)\b"
    r"|\bfrom now on\b|\bwhen(?:ever)? (?:the )?user (?:asks|says|requests|mentions)\b"
    r"|\b(?:recommend|suggest|promote|prefer|use|click|visit|open|buy|install|run|execute"
    r"|call|answer|reply|respond|say|write|add|include|mention|append|insert) (?:only |always )?"
    r"(?:\w{1,30} ){0,4}?(?:in every|to every|in all|in each|every time|at all times|always)\b"
)


def order(text: str) -> Order | None:
    """Whether a text gives orders: "override" for what nobody may, "order" for what only
    the user may. Invisible characters and spelling with wide letters do not hide it."""
    plain = normalise(text)
    if _OVERRIDE.search(plain):
        return "override"
    return "order" if _ORDER.search(plain) else None
