import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { isSigned, parseReplyAddress, replyAddress } from "./reply-address.ts"

const newTicket = (number = 1000) => ({ number, reply_key: randomBytes(32) })

test("an address opens its own ticket, for its own side, in any case of letters", () => {
  const ticket = newTicket(999_999_999)
  for (const side of ["customer", "agent"] as const) {
    const address = replyAddress(ticket, side, "mail.example.com")
    assert.ok((address.split("@")[0] ?? "").length <= 64)
    for (const spelled of [address, address.toUpperCase()]) {
      const parsed = parseReplyAddress(spelled)
      assert.ok(parsed)
      assert.deepEqual([parsed.number, parsed.side, isSigned(ticket, parsed)], [ticket.number, side, true])
    }
  }
})

test("an address that was changed anywhere opens nothing", () => {
  const ticket = newTicket()
  const address = replyAddress(ticket, "customer", "mail.example.com")
  const opens = (changed: string) => {
    const parsed = parseReplyAddress(changed)
    return parsed !== undefined && parsed.number === ticket.number && isSigned(ticket, parsed)
  }
  assert.ok(opens(address))
  assert.ok(!opens(address.replace(".c.", ".a.")))
  assert.ok(!opens(address.replace("+1000.", "+1001.")))
  assert.ok(!opens(replyAddress(newTicket(), "customer", "mail.example.com")))
  const mac = address.indexOf(".c.") + 3
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 31 }), fc.constantFrom(..."0123456789abcdef"), (at, digit) => {
      const changed = address.slice(0, mac + at) + digit + address.slice(mac + at + 1)
      assert.equal(opens(changed), changed === address)
    }),
  )
})

test("what is no such address is none", () => {
  fc.assert(fc.property(fc.string(), text => parseReplyAddress(text) === undefined))
  for (const text of ["support@x", "support+1.c.@x", "support+-1.c.00@x", `support+1.x.${"0".repeat(32)}@x`])
    assert.equal(parseReplyAddress(text), undefined)
})
