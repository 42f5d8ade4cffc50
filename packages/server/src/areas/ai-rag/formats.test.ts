import assert from "node:assert/strict"
import { test } from "node:test"
import { type Svc, SvcError } from "@svc/sdk"
import { strToU8, zipSync } from "fflate"
import { platform } from "../../testing/platform.ts"
import { CONTENT_TYPES } from "./reading/sniff.ts"
import { ingested } from "./testing/world.ts"

const CONTENT = `# Orchard

The cider press is cleaned every Tuesday by the night crew.

## Yield

| Kind | Tonnes |
| --- | ---: |
| Quinces | 112 |

- pears are picked in September
`

/** How the second row of its table is read. */
const ROW = {
  docx: /Kind \| Tonnes\nQuinces \| 112/,
  pdf: /Quinces 112/,
  pptx: /Kind \| Tonnes\nQuinces \| 112/,
  xlsx: /Kind: Quinces; Tonnes: 112/,
} as const

const ODT_NAMESPACES = ["office", "text", "table"]
  .map(name => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .join(" ")

const odtOf = (body: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    zipSync({
      mimetype: [strToU8(CONTENT_TYPES.odt), { level: 0 }],
      "content.xml": strToU8(
        `<?xml version="1.0"?><office:document-content ${ODT_NAMESPACES}><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
      ),
    }),
  )

const docxOf = (body: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(
    zipSync({ "word/document.xml": strToU8(`<w:document><w:body>${body}</w:body></w:document>`) }),
  )

const made = async (svc: Svc, format: "docx" | "pdf" | "pptx" | "xlsx") => {
  const { id } = await svc.aiDocuments.create({ format, content: CONTENT })
  const reply: unknown = await svc.aiDocuments.download({ doc_id: id })
  return Uint8Array.from(reply instanceof Response ? await reply.bytes() : (reply as Uint8Array))
}

/** The text of the chunks that a query finds in one document. */
const foundIn = async (svc: Svc, docId: string, query: string) =>
  (await svc.rag.query({ query, doc_ids: [docId] })).matches.map(({ text }) => text).join("\n")

test("a docx, a pdf, a pptx and an xlsx are read, with their tables", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  for (const format of ["docx", "pdf", "pptx", "xlsx"] as const) {
    const document = await ingested(acme, `orchard.${format}`, await made(acme, format))
    assert.deepEqual(
      [document.status, document.status_reason, document.content_type],
      ["ready", null, CONTENT_TYPES[format]],
      format,
    )
    if (format !== "xlsx")
      assert.match(
        await foundIn(acme, document.doc_id, "who cleans the cider press"),
        /The cider press is cleaned every Tuesday by the night crew\./,
        format,
      )
    assert.match(await foundIn(acme, document.doc_id, "quinces"), ROW[format], format)
  }
})

test("an odt is read with its headings, tables and notes, and a note leaves its paragraph whole", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const document = await ingested(
    acme,
    "mill.odt",
    odtOf(
      `<text:tracked-changes><text:p>The miller resigned.</text:p></text:tracked-changes>
      <text:h text:outline-level="1">Mill</text:h>
      <text:p>The mill<text:s/>turns<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Except in a drought.</text:p></text:note-body></text:note> by night &amp; day.</text:p>
      <table:table><table:table-row><table:table-cell><text:p>Rye</text:p></table:table-cell><table:table-cell><text:p>40</text:p></table:table-cell></table:table-row></table:table>`,
    ),
  )
  assert.deepEqual(
    [document.status, document.status_reason, document.content_type],
    ["ready", null, CONTENT_TYPES.odt],
  )
  const text = await foundIn(acme, document.doc_id, "when does the mill turn")
  assert.equal(text, "Mill\n\nThe mill turns by night & day.\n\nExcept in a drought.\n\nRye | 40")
})

test("sheets of an xlsx have the names and the order of its workbook, whatever their files are called", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const sheet = (value: string) =>
    strToU8(
      `<worksheet><sheetData><row><c t="inlineStr"><is><t>${value}</t></is></c></row></sheetData></worksheet>`,
    )
  const bytes = zipSync({
    "xl/workbook.xml": strToU8(
      '<workbook><sheets><sheet name="Geese" r:id="rId2"/><sheet name="Ducks" r:id="rId1"/></sheets></workbook>',
    ),
    "xl/_rels/workbook.xml.rels": strToU8(
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
    ),
    "xl/worksheets/sheet1.xml": sheet("mallard"),
    "xl/worksheets/sheet2.xml": sheet("greylag"),
  })
  const document = await ingested(acme, "birds.xlsx", Uint8Array.from(bytes))
  assert.deepEqual([document.status, document.status_reason], ["ready", null])
  const { matches } = await acme.rag.query({ query: "greylag mallard", doc_ids: [document.doc_id] })
  assert.deepEqual(
    matches
      .map(({ text, metadata: { page, heading } }) => ({ text, page, heading }))
      .sort((a, b) => Number(a.page) - Number(b.page)),
    [
      { text: "Geese\n\ngreylag", page: 1, heading: "Geese" },
      { text: "Ducks\n\nmallard", page: 2, heading: "Ducks" },
    ],
  )
})

test("a text box of a docx is read once, and leaves its paragraph whole", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const box = "<w:txbxContent><w:p><w:r><w:t>Mind the geese.</w:t></w:r></w:p></w:txbxContent>"
  const document = await ingested(
    acme,
    "pond.docx",
    docxOf(
      `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Pond</w:t></w:r></w:p>
      <w:p><w:r><w:t xml:space="preserve">The pond </w:t></w:r><w:r><mc:AlternateContent><mc:Choice>${box}</mc:Choice><mc:Fallback>${box}</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>freezes in January.</w:t></w:r></w:p>`,
    ),
  )
  assert.deepEqual([document.status, document.status_reason], ["ready", null])
  const text = await foundIn(acme, document.doc_id, "when does the pond freeze")
  assert.equal(text, "Pond\n\nThe pond freezes in January.\n\nMind the geese.")
})

test("a file that is damaged or unpacks to too much fails with its reason, and the next one is read", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const failsWith = async (name: string, bytes: Uint8Array<ArrayBuffer>, reason: RegExp) => {
    const { status, status_reason } = await ingested(acme, name, bytes)
    assert.equal(status, "failed", name)
    assert.match(status_reason ?? "", reason, name)
    const next = await ingested(acme, "next.txt", `After ${name} comes a heron.`)
    assert.equal(next.status, "ready", name)
    assert.match(await foundIn(acme, next.doc_id, "heron"), /comes a heron/)
  }

  await failsWith(
    "malformed.pdf",
    new TextEncoder().encode("%PDF-1.7\nnothing of a PDF\n%%EOF"),
    /PDF is damaged/,
  )
  const whole = docxOf("<w:p><w:r><w:t>Cut short.</w:t></w:r></w:p>")
  await failsWith("truncated.docx", whole.slice(0, -40), /archive is damaged/)
  const partless = Uint8Array.from(zipSync({ "word/document.xml.rels": strToU8("<Relationships/>") }))
  await failsWith("partless.docx", partless, /has no word\/document\.xml/)
  const bomb = Uint8Array.from(zipSync({ "word/document.xml": new Uint8Array(101 * 1024 * 1024) }))
  assert.ok(bomb.length < 1024 * 1024)
  await failsWith("bomb.docx", bomb, /unpacks to more than 100 MiB/)

  // An archive of none of the formats is refused at once.
  const archive = Uint8Array.from(zipSync({ "a.txt": strToU8("a") }))
  await assert.rejects(
    ingested(acme, "archive.docx", archive),
    (error: unknown) => error instanceof SvcError && error.status === 400 && /archive/.test(error.message),
  )
})
