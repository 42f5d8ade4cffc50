/** Loaded into each test file's process by `tools/test.ts`: writes what the file took of the processors when it ends. */
import { appendFileSync } from "node:fs"
import { processorSeconds } from "./processor-time.ts"

export const COSTS_VARIABLE = "SVC_TEST_COSTS"

export interface FileCost {
  readonly file: string
  readonly processorSeconds: number
}

const costs = process.env[COSTS_VARIABLE]
const [, file] = process.argv
if (costs !== undefined && file !== undefined) {
  // Workers and programs that the file starts are part of it.
  delete process.env[COSTS_VARIABLE]
  process.once("exit", () => {
    const cost: FileCost = { file, processorSeconds: processorSeconds() }
    appendFileSync(costs, `${JSON.stringify(cost)}\n`)
  })
}
