/** A local engine in a folder of its own, for a test. */
import { rmSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { makeTemplatesDir } from "../../../../../testing/database.ts"
import type { EnginePort } from "../../../port.ts"
import { type LocalEngineOptions, openLocalEngine } from "../driver.ts"

let templates: Promise<string> | undefined

/** One folder of templates for all tests of a process, unless `npm test` gave one to all processes. */
export const sharedTemplates = async (): Promise<string> => {
  const given = process.env.SVC_TEST_TEMPLATES
  if (given !== undefined) return given
  templates ??= makeTemplatesDir().then(folder => {
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }))
    return folder
  })
  return templates
}

const endings = new WeakMap<TestContext, AsyncDisposableStack>()

/** After the test, in reverse order: a folder goes when nothing works in it any more. */
const atEnd = (t: TestContext, act: () => Promise<void>): void => {
  let ending = endings.get(t)
  if (!ending) {
    const fresh = new AsyncDisposableStack()
    endings.set(t, fresh)
    t.after(() => fresh.disposeAsync())
    ending = fresh
  }
  ending.defer(act)
}

export const newEngineDir = async (t: TestContext): Promise<string> => {
  const dataDir = await mkdtemp(join(tmpdir(), "svc-engine-"))
  await chmod(dataDir, 0o711)
  atEnd(t, () => rm(dataDir, { recursive: true, force: true }))
  return dataDir
}

export interface TestEngine {
  readonly engine: EnginePort
  readonly dataDir: string
  readonly lines: readonly string[]
}

/** Opens an engine on the folder, or on a new one; it ends with the test. */
export const openTestEngine = async (
  t: TestContext,
  given?: string,
  options: Pick<LocalEngineOptions, "memoryMb"> = {},
): Promise<TestEngine> => {
  const dataDir = given ?? (await newEngineDir(t))
  const lines: string[] = []
  const templatesDir = await sharedTemplates()
  const engine = await openLocalEngine({ ...options, dataDir, templatesDir, log: line => lines.push(line) })
  atEnd(t, async () => engine[Symbol.asyncDispose]())
  return { engine, dataDir, lines }
}
