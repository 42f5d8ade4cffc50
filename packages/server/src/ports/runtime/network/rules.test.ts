import assert from "node:assert/strict"
import { isIPv4 } from "node:net"
import { test } from "node:test"
import fc from "fast-check"
import { PortError } from "../../port-error.ts"
import { answerOf, codes, readQuestion, types } from "./dns.ts"
import { reachOf } from "./policy.ts"
import { workloadRules } from "./rules.ts"

const reach = (allow: readonly string[] | null, deny: readonly string[] = []) =>
  reachOf({ mode: "filtered", allow, deny })

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/)
const domain = fc.array(label, { minLength: 1, maxLength: 4 }).map(labels => [...labels, "test"].join("."))

const questionOf = (name: string, type: number): Buffer =>
  Buffer.concat([
    Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ...name.split(".").map(part => Buffer.concat([Buffer.from([part.length]), Buffer.from(part)])),
    Buffer.from([0, type >> 8, type & 255, 0, 1]),
  ])

test("a question is read as it was written, in whatever case, and its answer repeats it", () => {
  fc.assert(
    fc.property(domain, fc.constantFrom(...Object.values(types)), (name, type) => {
      const question = readQuestion(questionOf(name.toUpperCase(), type))
      assert.ok(question)
      assert.deepEqual([question.id, question.name, question.type], [7, name, type])
      const answer = answerOf(question, codes.none, [{ address: "1.2.3.4", ttl: 60 }])
      assert.ok(answer.includes(question.bytes))
      assert.deepEqual([...answer.subarray(-4)], [1, 2, 3, 4])
      assert.equal(readQuestion(answer), undefined, "an answer is no question")
    }),
  )
})

test("bytes that are no question are nothing, and never an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), bytes => {
      const found = readQuestion(Buffer.from(bytes))
      if (found) assert.match(found.name, /^[a-z0-9._-]*$/)
    }),
  )
  fc.assert(
    fc.property(domain, fc.nat(40), fc.nat(255), (name, at, byte) => {
      const message = questionOf(name, 1)
      message[at % message.length] = byte
      const found = readQuestion(message)
      assert.ok(found === undefined || found.name.length < 256)
    }),
  )
})

test("a wildcard is all that is below a domain, and neither that nor what looks like it", () => {
  fc.assert(
    fc.property(domain, label, (name, below) => {
      const { allowsName } = reach([`*.${name}`])
      assert.deepEqual([`${below}.${name}`, name, `${below}${name}`, `${name}.evil.test`].map(allowsName), [
        true,
        false,
        false,
        false,
      ])
      assert.ok(reach([name.toUpperCase()]).allowsName(name))
      assert.ok(reach(null).allowsName(name))
    }),
  )
})

test("nothing but networks and domains gets into rules", () => {
  for (const entry of [
    "1.2.3.4",
    "1.2.3.4/33",
    "1.2.3/8",
    "1.2.3.4/8/8",
    "::1/129",
    "a b.test",
    "*",
    "*.test",
  ])
    assert.throws(() => reach([entry]), PortError, entry)
  for (const entry of ["example.com", "1.2.3.4", "0x1.2.3.4/8"])
    assert.throws(() => reach(null, [entry]), PortError, entry)
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 3 }), entries => {
      let text: string
      try {
        text = workloadRules("w0a800002", "10.128.0.2", reach(entries, entries))
      } catch (error) {
        assert.ok(error instanceof PortError)
        return
      }
      assert.match(text, /^[\w.@{}:;,/ -]+$/)
    }),
  )
  fc.assert(
    fc.property(fc.ipV4(), fc.nat(32), (address, bits) => {
      const { allow } = reach([`${address}/${bits}`])
      assert.ok(isIPv4(allow?.cidrs[0]?.split("/")[0] ?? ""))
    }),
  )
})
