import assert from "node:assert/strict"
import { test } from "node:test"
import { DOCUMENT_FORMATS } from "@svc/contract"
import { platform } from "../../testing/platform.ts"

const MARKDOWN = `# Harvest

A **good** year, see [the site](https://example.com) & more. Łódź.

## Yield

- apples
  1. red
  2. green
- [x] pears

| Kind | Tonnes |
| --- | ---: |
| Apples | 112 |
| =SUM(A1:A2) | -5 |

> Quoted.

\`\`\`js
let a = 1
\`\`\`
`

const textOf = async (reply: unknown): Promise<string> => {
  const bytes = reply instanceof Response ? await reply.bytes() : reply
  return new TextDecoder().decode(bytes as Uint8Array)
}

test("a document can be downloaded in every format, by its own project and by no other", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const globex = await p.client("globex", "ai:infer")

  for (const format of DOCUMENT_FORMATS) {
    const made = await acme.aiDocuments.create({ format, content: MARKDOWN })
    assert.equal(made.title, "Harvest")
    assert.equal(made.file_name, `Harvest.${format}`)
    const bytes = await textOf(await acme.aiDocuments.download({ doc_id: made.id }))
    assert.ok(bytes.length > 20, format)
    await assert.rejects(globex.aiDocuments.download({ doc_id: made.id }), { code: "document_not_found" })
    await assert.rejects(globex.aiDocuments.versions({ doc_id: made.id }), { code: "document_not_found" })
    await assert.rejects(globex.aiDocuments.delete({ doc_id: made.id }), { code: "document_not_found" })
    await assert.rejects(
      globex.aiDocuments.revise({ document_id: made.id, edits: [{ op: "delete", target: "#1" }] }),
      { code: "document_not_found" },
    )
  }
  assert.equal((await acme.aiDocuments.history({})).total, DOCUMENT_FORMATS.length)
  assert.equal((await globex.aiDocuments.history({})).total, 0)
  assert.equal((await globex.aiDocuments.status({})).versions, 0)
})

test("a revision makes a version, and earlier ones stay as they were", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const { id, sha256 } = await acme.aiDocuments.create({ format: "md", content: MARKDOWN })

  const second = await acme.aiDocuments.revise({
    document_id: id,
    version: 1,
    edits: [
      { op: "find_replace", find: "good", text: "great *year*" },
      { op: "replace", target: "yield", text: "## Yield\n\nMuch." },
      { op: "insert_before", target: "Yield", text: "First." },
      { op: "insert_after", target: "#1", text: "Below the title." },
      { op: "restyle", data: { accent: "#ff0000" } },
    ],
  })
  assert.equal(second.version, 2)
  assert.notEqual(second.sha256, sha256)

  const latest = await textOf(await acme.aiDocuments.download({ doc_id: id }))
  assert.equal(
    latest,
    "# Harvest\n\nBelow the title.\n\nA **great \\*year\\*** year, see [the site](<https://example.com>) & more. Łódź.\n\nFirst.\n\n## Yield\n\nMuch.\n",
  )
  const first = await textOf(await acme.aiDocuments.download({ doc_id: id, version: 1 }))
  assert.match(first, /A \*\*good\*\* year/)
  const { data } = await acme.aiDocuments.versions({ doc_id: id })
  assert.deepEqual(
    data.map(({ version }) => version),
    [2, 1],
  )
  assert.equal(data[1]?.sha256, sha256)
})

test("an edit that cannot be done is refused with its number, and changes nothing", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const { id } = await acme.aiDocuments.create({ format: "md", content: MARKDOWN })
  const fine = { op: "find_replace", find: "good", text: "great" } as const
  const refused = async (edit: object, reason: RegExp) =>
    assert.rejects(
      acme.aiDocuments.revise({ document_id: id, edits: [fine, edit as typeof fine] }),
      (error: Error & { code?: string }) => error.code === "invalid_parameter" && reason.test(error.message),
    )

  await refused({ op: "delete", target: "Nothing" }, /edit 2: no heading is called "Nothing"/)
  await refused({ op: "delete", target: "#99" }, /there is no block #99/)
  await refused({ op: "find_replace", find: "zebra", text: "" }, /there is no "zebra"/)
  await refused({ op: "set_data", data: {} }, /from a template/)
  await refused({ op: "restyle", data: { font_size: 99 } }, /restyle: font_size/)
  await refused({ op: "restyle", data: { colour: "red" } }, /nothing is called colour/)
  await assert.rejects(acme.aiDocuments.revise({ document_id: id, version: 2, edits: [fine] }), {
    code: "conflict",
  })

  assert.equal((await acme.aiDocuments.versions({ doc_id: id })).total, 1)
})

test("every template is filled by its example, and set_data fills it again and keeps the edits", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const { templates } = await acme.aiDocuments.templates({})
  for (const { id, format, example } of templates) {
    const made = await acme.aiDocuments.create({ format, template: id, data: example })
    assert.equal(made.template, id)
  }

  const example = templates.find(({ id }) => id === "invoice")?.example ?? {}
  const { id } = await acme.aiDocuments.create({ format: "txt", template: "invoice", data: example })
  assert.match(await textOf(await acme.aiDocuments.download({ doc_id: id })), /Total: 56.41 EUR/)
  await acme.aiDocuments.revise({
    document_id: id,
    edits: [{ op: "find_replace", find: "Delivery", text: "Transport" }],
  })
  await acme.aiDocuments.revise({
    document_id: id,
    edits: [{ op: "set_data", data: { number: "2026-002", tax_percent: 0 } }],
  })
  const text = await textOf(await acme.aiDocuments.download({ doc_id: id }))
  assert.match(text, /Invoice 2026-002/)
  assert.match(text, /Transport/)
  assert.match(text, /Total: 47.4 EUR/)
})

test("values of a template are text and never markup, in any format", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const name = "# x | [a](javascript:alert(1)) <script>alert(1)</script>\n- y"
  const { html } = await acme.aiDocuments.preview({
    template: "| Name |\n| --- |\n| {{ name }} |",
    data: { name },
  })
  assert.match(html, /<td># x \| \[a\]\(javascript:alert\(1\)\) &lt;script&gt;/)
  const { id } = await acme.aiDocuments.create({
    format: "csv",
    template: "| Name |\n| --- |\n{% for cell in cells %}| {{ cell }} |\n{% endfor %}",
    data: { cells: ["=1+1", "+1", "-x", "@x", "-5", "plain, text"] },
  })
  assert.equal(
    await textOf(await acme.aiDocuments.download({ doc_id: id })),
    "Name\r\n'=1+1\r\n'+1\r\n'-x\r\n'@x\r\n-5\r\n\"plain, text\"\r\n",
  )
})

test("a preview has nothing that runs or is loaded, and stores nothing", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const { html, title, blocks } = await acme.aiDocuments.preview({
    content:
      "# A\n\n<script>alert(1)</script>\n\n![x](https://example.com/x.png) [y](javascript:alert(1)) <img src=x onerror=alert(1)>",
  })
  assert.equal(title, "A")
  assert.equal(blocks, 3)
  assert.doesNotMatch(html, /<script|<img|javascript:alert\(1\)"|onerror=alert\(1\)>/)
  assert.equal((await acme.aiDocuments.history({})).total, 0)
})

test("what nests too deeply or is too large ends in a clear refusal", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const refused = (content: string, status: number, reason: RegExp) =>
    assert.rejects(
      acme.aiDocuments.create({ format: "html", content }),
      (error: Error & { status?: number }) => error.status === status && reason.test(error.message),
    )

  await refused(`${"> ".repeat(5_000)}x`, 400, /nested/)
  await refused(`${"- ".repeat(100)}x`, 400, /nested/)
  await refused("x ".repeat(500_000), 400, /not valid/)
  await refused("x ".repeat(600_000), 413, /too large/)
  await refused(`|${"a|".repeat(200)}\n|${"-|".repeat(200)}\n`, 400, /100 columns/)
  const { title } = await acme.aiDocuments.preview({ content: "# Still works" })
  assert.equal(title, "Still works")
})

test("what a model would write is refused without one, and repeating it is in vain", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", ["ai:infer"])
  const reply = await p.request("/v1/ai/docgen/create", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ format: "docx", prompt: "An offer." }),
  })
  assert.equal(reply.status, 503)
  assert.equal(reply.headers.get("x-should-retry"), "false")
  assert.match(await reply.text(), /all_providers_exhausted/)
  const svc = p.as(secret)
  const refused = { code: "all_providers_exhausted" }
  await assert.rejects(svc.aiDocuments.preview({ prompt: "An offer." }), refused)
  const { id } = await svc.aiDocuments.create({ format: "md", content: "# Offer" })
  await assert.rejects(svc.aiDocuments.revise({ document_id: id, instruction: "Shorter." }), refused)
})
