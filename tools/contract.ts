/**
 * `npm run contract`: the OpenAPI document against programs that others wrote: a validator, and two generators whose clients
 * are compiled. They live in folders of their own under node_modules/.cache.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkDocument } from "./contract/document.ts"
import { hasPython } from "./contract/python.ts"

if (hasPython()) {
  const folder = mkdtempSync(join(tmpdir(), "svc-contract-"))
  try {
    checkDocument(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
} else {
  process.stdout.write("skipped: contract (python3 with venv is missing)\n")
}
