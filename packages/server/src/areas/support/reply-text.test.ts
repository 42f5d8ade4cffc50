import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { answerOf, REPLY_LINE } from "./reply-text.ts"

const OURS = `> ${REPLY_LINE}\n>\n> Ada wrote:\n>\n> Which one?`

test("of an answer by mail only what was written is kept", () => {
  const cases: [string, string][] = [
    ["Orders.\n", "Orders."],
    [
      `Orders.\r\n\r\nOn Mon, 2 Nov 2026 at 10:00, Support <no-reply@example.com> wrote:\r\n${OURS}`,
      "Orders.",
    ],
    [
      `Orders.\n\nOn Mon, 2 Nov 2026 at 10:00, Support\n<support+1000.c.0@mail.example.com> wrote:\n${OURS}`,
      "Orders.",
    ],
    [`Orders.\n\nAm 02.11.2026 um 10:00 schrieb Support:\n${OURS}`, "Orders."],
    [`Orders.\n\nLe 2 nov. 2026 à 10:00, Support a écrit :\n${OURS}`, "Orders."],
    [`Orders.\n-----Original Message-----\nFrom: Support\nWhich one?`, "Orders."],
    [`Orders.\n________________________________\nFrom: Support\nWhich one?`, "Orders."],
    ["Orders.\n-- \nAda Lovelace\nAnalytical Engines", "Orders."],
    [`Orders.\n\n${OURS}`, "Orders."],
    [`Orders.\n\n${REPLY_LINE}\n\nAda wrote:`, "Orders."],
    ["> Which one?\nOrders.\n> And when?\nToday.\n> Thanks", "> Which one?\nOrders.\n> And when?\nToday."],
    ["On Monday I wrote:\nnothing", "On Monday I wrote:\nnothing"],
    ["I wrote: nothing.\nOn the whole it works.", "I wrote: nothing.\nOn the whole it works."],
    [OURS, ""],
    ["\u0000Or\u0007ders.\ud800", "Orders.\ufffd"],
    ["", ""],
  ]
  for (const [mail, answer] of cases) assert.equal(answerOf(mail), answer, JSON.stringify(mail))
})

test("whatever comes by mail, the answer is text that can be kept, and nothing follows the line of ours", () => {
  const line = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("> quoted", "-- ", "On x wrote:", "", REPLY_LINE, "On ".repeat(400)),
  )
  fc.assert(
    fc.property(fc.array(line), lines => {
      const answer = answerOf(lines.join("\n"))
      assert.ok(answer.isWellFormed())
      assert.ok(!answer.includes("\u0000"))
      assert.ok(!answer.includes(REPLY_LINE))
      assert.equal(answer, answer.trim())
    }),
  )
})

test("a mail of a megabyte that looks like quotations all over is read to its end", () => {
  const text = `${"On a day somebody ".repeat(30)}\n`.repeat(2_000)
  assert.equal(answerOf(text).length, text.trim().length)
})
