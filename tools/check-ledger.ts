/** Which declared statuses no test has seen. The committed list of gaps may only shrink. */
import { readFileSync, writeFileSync } from "node:fs"
import { allOperations, faults, type Operation } from "../packages/contract/src/index.ts"

const GAPS = new URL("../packages/server/src/testing/ledger-gaps.txt", import.meta.url)

/** What an operation says of itself: its successes, and the statuses of the faults it names. */
const declared = (operation: Operation): string[] => {
  const statuses = [
    ...Object.keys(operation.replies),
    ...(operation.faults ?? []).map(code => faults[code].status),
  ]
  return [...new Set(statuses)].map(status => `${operation.name} ${status}`)
}

const lines = (file: string | URL): Set<string> => {
  try {
    return new Set(readFileSync(file, "utf8").split("\n").filter(Boolean))
  } catch {
    return new Set()
  }
}

/** Gaps that name no declared status: what they waited for is gone. */
export const checkGaps = (): string[] => {
  const known = new Set(allOperations.flatMap(declared))
  return [...lines(GAPS)]
    .filter(line => !known.has(line))
    .map(line => `${line} is declared no more: take it out of ledger-gaps.txt`)
}

/** Compares what was seen with what is declared; says what to do about each difference. */
export const checkLedger = (ledger: string): string[] => {
  const seen = lines(ledger)
  const known = lines(GAPS)
  const missing = allOperations.flatMap(declared).filter(line => !seen.has(line))
  if (process.env.LEDGER_WRITE === "1") writeFileSync(GAPS, missing.map(line => `${line}\n`).join(""))
  const fresh = missing
    .filter(line => !known.has(line))
    .map(line => `no test saw ${line}: add one beside its handlers`)
  const closed = [...known]
    .filter(line => !missing.includes(line))
    .map(line => `${line} is tested now: take it out of ledger-gaps.txt`)
  return process.env.LEDGER_WRITE === "1" ? [] : [...fresh, ...closed]
}
