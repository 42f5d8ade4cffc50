import assert from "node:assert/strict"
import { generateKeyPairSync } from "node:crypto"
import { test } from "node:test"
import { dkimVerify } from "mailauth/lib/dkim/verify.js"
import { signMail } from "./dkim.ts"
import { composeMail, type MailContent } from "./mime.ts"

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const signer = {
  domain: "mail.example.com",
  selector: "svc1",
  privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
}
const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`

const resolver = async (name: string, type: string) => {
  assert.equal(type, "TXT")
  assert.equal(name, "svc1._domainkey.mail.example.com")
  return [[record]]
}

const verdict = async (content: Buffer): Promise<string> => {
  const { results } = await dkimVerify(content, { resolver })
  return String(results[0]?.status.result)
}

const mail: MailContent = {
  messageId: "<1@mail.example.com>",
  from: { email: "hi@mail.example.com", name: "Grüße, App" },
  to: [{ email: "ada@example.com", name: "" }],
  cc: [{ email: "bob@example.com", name: "Bob" }],
  replyTo: { email: "re@mail.example.com", name: "" },
  subject:
    "A subject that is long enough to be folded over more than one line of the header, ✓ and more of it",
  html: `<p>Hello  there \t</p>\n\n<p>${"long ".repeat(500)}</p>`,
  text: "Hello   \n.\n..dots\n\n\n",
  headers: { "X-Thing": "one", "List-Unsubscribe": "<https://example.com/u>" },
  attachments: [
    {
      filename: "ä.bin",
      contentType: "application/octet-stream",
      contentId: null,
      content: Buffer.alloc(5000, 7),
    },
  ],
  date: new Date("2026-11-20T12:00:00Z"),
  seed: "seed",
}

test("an independent verifier takes our signatures, and no changed mail", async () => {
  const variants: Partial<MailContent>[] = [
    {},
    { html: null, attachments: [] },
    { html: null, text: "", attachments: [] },
    { html: null, text: " \n \n", attachments: [] },
    { text: null, attachments: [] },
    { subject: "x", cc: [], replyTo: null, headers: {} },
  ]
  for (const variant of variants) {
    const signed = await signMail(await composeMail({ ...mail, ...variant }), signer, 1_800_000_000)
    assert.equal(await verdict(signed), "pass", JSON.stringify(variant))
  }
  const signed = await signMail(await composeMail(mail), signer, 1_800_000_000)
  const text = signed.toString("latin1")
  assert.notEqual(await verdict(Buffer.from(text.replace("Hello", "Hullo"), "latin1")), "pass")
  assert.notEqual(await verdict(Buffer.from(text.replace("Subject: ", "Subject: x"), "latin1")), "pass")
  const spoofed = text.replace("From: ", "From: boss@example.com\r\nFrom: ")
  assert.notEqual(await verdict(Buffer.from(spoofed, "latin1")), "pass")
})

test("any number of empty lines costs no more than their reading", async () => {
  const content = Buffer.from(`From: a@b.c\r\n\r\n${"\r\n".repeat(400_000)}x`)
  assert.ok((await signMail(content, signer, 1_800_000_000)).length > content.length)
})

test("the same mail is the same bytes each time it is composed", async () => {
  assert.deepEqual(await composeMail(mail), await composeMail(mail))
})
