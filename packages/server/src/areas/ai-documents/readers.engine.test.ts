import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { platform } from "../../testing/platform.ts"

const PACKAGES = ["python-docx==1.2.0", "openpyxl==3.1.5", "pypdf==7.1.1", "python-pptx==1.0.2"]
const has = (program: string, ...words: string[]) => spawnSync(program, words).status === 0

const CONTENT =
  "# Offer\n\nApples for **Łódź**.\n\n## Items\n\n| Item | Count |\n| --- | ---: |\n| =1+1 | 100 |\n\n- first\n- second\n"

/** The document in the formats that have readers of their own. */
const makeFiles = async (t: TestContext): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-documents-"))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const p = await platform(t)
  const { aiDocuments } = await p.client("acme", "ai:infer")
  const { id } = await aiDocuments.create({ format: "md", content: CONTENT })
  for (const format of ["docx", "pdf", "pptx", "xlsx"] as const) {
    const reply: unknown = await aiDocuments.download({ doc_id: id, format })
    writeFileSync(
      join(folder, `offer.${format}`),
      reply instanceof Response ? await reply.bytes() : (reply as Uint8Array),
    )
  }
  return folder
}

test("python-docx, pypdf, python-pptx and openpyxl read what was written", {
  skip: has("python3", "-m", "venv", "--help") ? false : "python3-venv is missing",
}, async t => {
  const folder = await makeFiles(t)
  const environment = resolve("node_modules/.cache/document-readers")
  if (!existsSync(join(environment, "lib"))) execFileSync("python3", ["-m", "venv", environment])
  execFileSync(join(environment, "bin/pip"), ["install", "--quiet", ...PACKAGES])
  const script = fileURLToPath(new URL("testing/read.py", import.meta.url))
  const read = JSON.parse(
    execFileSync(join(environment, "bin/python"), [script, folder], { encoding: "utf8" }),
  )

  assert.deepEqual(read.docx, [
    ...["Offer", "Apples for Łódź.", "Items", "first", "second"],
    ...[
      ["Item", "Count"],
      ["=1+1", "100"],
    ],
  ])
  for (const text of ["Offer", "Apples for Łódź.", "=1+1", "second"])
    assert.ok(read.pdf.includes(text), read.pdf)
  assert.deepEqual(read.pptx.slice(0, 2), ["Offer", "Apples for Łódź."])
  // Of the type of texts, where a formula has `f`.
  assert.deepEqual(read.xlsx.Items[1], [
    ["=1+1", "s"],
    [100, "n"],
  ])
})

test("LibreOffice opens every file", {
  skip: has("soffice", "--version") ? false : "LibreOffice is missing",
}, async t => {
  const folder = await makeFiles(t)
  for (const format of ["docx", "pptx", "xlsx"]) {
    const words = ["--headless", `-env:UserInstallation=file://${folder}/profile`, "--convert-to", "pdf"]
    execFileSync("soffice", [...words, "--outdir", join(folder, format), join(folder, `offer.${format}`)])
    assert.ok(existsSync(join(folder, format, "offer.pdf")), format)
  }
})
