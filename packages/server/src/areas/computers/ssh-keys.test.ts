/** Which lines are public keys. */
import assert from "node:assert/strict"
import { generateKeyPairSync } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import { readPublicKey, readPublicKeys } from "./ssh-keys.ts"
import { ed25519Key } from "./testing/keys.ts"

test("public keys of OpenSSH are taken as they are, comment and all", () => {
  const line = ed25519Key("ada@laptop")
  assert.equal(readPublicKey(line), line)
  assert.equal(readPublicKey(`  ${line}\n`), line)
  assert.deepEqual(readPublicKeys([line, line]), [line])
  assert.deepEqual(readPublicKeys([]), [])
})

test("what is no public key is refused: private ones, options, a type that is not the blob's, two lines", () => {
  const line = ed25519Key("a")
  const [, blob = ""] = line.split(" ")
  const { privateKey } = generateKeyPairSync("ed25519")
  const wrong = [
    ...["", "ssh-ed25519", `ssh-ed25519 ${blob.slice(0, -8)}`, `ssh-rsa ${blob}`, `ssh-dss ${blob}`],
    ...[
      `command="sh" ${line}`,
      `${line}\n${line}`,
      `${line}\rssh-rsa x`,
      `ssh-ed25519\t${blob}`,
      `# ${line}`,
    ],
    ...[privateKey.export({ type: "pkcs8", format: "pem" }).toString(), `ssh-ed25519 ${blob}==== x`],
  ]
  for (const text of wrong) assert.equal(readPublicKey(text), undefined, JSON.stringify(text))
})

test("no text makes more than one line of authorized_keys, whatever it is", () => {
  const key = ed25519Key("x")
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.string().map(comment => `${key} ${comment}`),
      ),
      text => {
        const read = readPublicKey(text)
        if (read !== undefined) assert.match(read, /^ssh-ed25519 [A-Za-z0-9+/=]+[^\n\r\0]*$/)
      },
    ),
  )
})

test("a machine has at most 32 keys", () => {
  const keys = Array.from({ length: 33 }, (_, n) => ed25519Key(`k${n}`))
  assert.equal(readPublicKeys(keys.slice(1)).length, 32)
  assert.throws(() => readPublicKeys(keys), { code: "too_many_keys" })
})
