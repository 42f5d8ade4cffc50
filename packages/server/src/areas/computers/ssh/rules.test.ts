/** The pure rules of the ssh port. */
import assert from "node:assert/strict"
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { test } from "node:test"
import fc from "fast-check"
import ssh2, { type PublicKeyAuthContext } from "ssh2"
import { newId } from "../../../kernel/id.ts"
import { createAdmission } from "./admission.ts"
import { toOpenSshKey } from "./host-key.ts"
import { readLoginName } from "./login-name.ts"
import { isSignedBy } from "./signature.ts"

test("a login names a computer by name, by name and project, or by id, and root before a plus", () => {
  const id = newId()
  const of = (user: string, name: string, ownerId?: string) => ({ user, computer: { name, ownerId } })
  assert.deepEqual(readLoginName("web-1"), of("user", "web-1"))
  assert.deepEqual(readLoginName("root+web-1"), of("root", "web-1"))
  assert.deepEqual(readLoginName(`root+web-1.${id.toUpperCase()}`), of("root", "web-1", id))
  assert.deepEqual(readLoginName(id), { user: "user", computer: { id } })
  assert.deepEqual(readLoginName("root"), of("user", "root"))
  for (const text of [
    "",
    "root+",
    "Web",
    "web.x",
    `.${id}`,
    "a b",
    "a+b",
    "root+root+a",
    "a".repeat(64),
    "a\0",
  ])
    assert.equal(readLoginName(text), undefined, text)
  fc.assert(fc.property(fc.string(), text => void readLoginName(text)))
})

const parseKey = ssh2.utils.parseKey
const text = (value: string | Buffer) => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(Buffer.byteLength(value))
  return Buffer.concat([length, Buffer.from(value as string)])
}
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest()
const signed = Buffer.from("the session and the request")

/** What a FIDO device signs, and with what flags. */
const deviceSigns = (
  key: KeyObject,
  flags: number,
  dsaEncoding: "der" | "ieee-p1363",
  hash: string | null,
) => {
  const device = Buffer.from([flags, 0, 0, 0, 7])
  const said = Buffer.concat([sha256(Buffer.from("ssh:")), device, sha256(signed)])
  return { device, made: sign(hash, said, { key, dsaEncoding }) }
}

const contextOf = (algo: string, data: Buffer, signature: Buffer, hashAlgo?: string) =>
  ({ key: { algo, data }, signature, blob: signed, hashAlgo }) as unknown as PublicKeyAuthContext

test("keys on devices are taken when somebody touched the device, and only for what they signed", () => {
  const ed = generateKeyPairSync("ed25519")
  const edPoint = Buffer.from(ed.publicKey.export({ format: "jwk" }).x ?? "", "base64url")
  const edType = "sk-ssh-ed25519@openssh.com"
  const edBlob = Buffer.concat([text(edType), text(edPoint), text("ssh:")])
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = ec.publicKey.export({ format: "jwk" })
  const ecPoint = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")])
  const ecType = "sk-ecdsa-sha2-nistp256@openssh.com"
  const ecBlob = Buffer.concat([text(ecType), text("nistp256"), text(ecPoint), text("ssh:")])
  const ofEd = (flags: number) => {
    const { made, device } = deviceSigns(ed.privateKey, flags, "der", null)
    return contextOf(edType, edBlob, Buffer.concat([made, device]))
  }
  const ofEc = (flags: number) => {
    const { made, device } = deviceSigns(ec.privateKey, flags, "ieee-p1363", "sha256")
    // Numbers have a sign here, and so sometimes a zero before them.
    const number = (bytes: Buffer) => text(Buffer.concat([Buffer.alloc((bytes[0] ?? 0) >> 7), bytes]))
    const halves = Buffer.concat([number(made.subarray(0, 32)), number(made.subarray(32))])
    return contextOf(ecType, ecBlob, Buffer.concat([halves, device]))
  }
  for (const make of [ofEd, ofEc]) {
    assert.equal(isSignedBy(make(1), parseKey), true)
    assert.equal(isSignedBy(make(0), parseKey), false)
    const other = { ...make(1), blob: Buffer.from("another session") } as PublicKeyAuthContext
    assert.equal(isSignedBy(other, parseKey), false)
    const { signature = Buffer.alloc(0) } = make(1)
    for (const wrong of [Buffer.alloc(0), signature.subarray(1), Buffer.alloc(signature.length)]) {
      assert.equal(isSignedBy({ ...make(1), signature: wrong } as PublicKeyAuthContext, parseKey), false)
    }
  }
})

test("RSA signs with SHA-2 or not at all, and no bytes make a signature that is taken by chance", () => {
  const made = ssh2.utils.generateKeyPairSync("rsa", { bits: 2048 })
  const key = parseKey(made.private)
  assert.ok(!(key instanceof Error))
  const data = Buffer.from(made.public.split(" ")[1] ?? "", "base64")
  assert.equal(isSignedBy(contextOf("ssh-rsa", data, key.sign(signed, "sha512"), "sha512"), parseKey), true)
  assert.equal(isSignedBy(contextOf("ssh-rsa", data, key.sign(signed, "sha1")), parseKey), false)
  fc.assert(
    fc.property(
      fc.constantFrom(
        "ssh-ed25519",
        "ssh-rsa",
        "sk-ssh-ed25519@openssh.com",
        "ecdsa-sha2-nistp256",
        "ssh-dss",
        "x",
      ),
      fc.uint8Array({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 200 }),
      (algo, blob, signature) =>
        !isSignedBy(contextOf(algo, Buffer.from(blob), Buffer.from(signature), "sha256"), parseKey),
    ),
  )
})

test("the host key is one that OpenSSH's format knows, and the same for the same secret", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const key = parseKey(toOpenSshKey(privateKey))
  assert.ok(!(key instanceof Error))
  const { x = "" } = publicKey.export({ format: "jwk" })
  assert.deepEqual(key.getPublicSSH().subarray(-32), Buffer.from(x, "base64url"))
  assert.equal(key.verify(signed, key.sign(signed)), true)
})

test("connections are counted by address, strangers apart, and what ended makes room", () => {
  const admission = createAdmission({
    ...{ connectionsMax: 4, ofAddressMax: 3, strangersMax: 3, strangersOfAddressMax: 2 },
  })
  const first = admission.admit("a")
  const second = admission.admit("a")
  assert.ok(first && second)
  assert.equal(admission.admit("a"), undefined)
  first.known()
  const third = admission.admit("a")
  assert.ok(third)
  third.known()
  assert.equal(admission.admit("a"), undefined, "three of one address")
  assert.ok(admission.admit("b"))
  assert.equal(admission.admit("c"), undefined, "four in all")
  second[Symbol.dispose]()
  second[Symbol.dispose]()
  assert.ok(admission.admit("c"))
  assert.equal(admission.admit("d"), undefined)
})
