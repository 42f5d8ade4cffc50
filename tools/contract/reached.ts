/** Which operations a run got a success of. */
import { readFileSync } from "node:fs"
import { allOperations, faultSpec, isOurs, type Operation } from "@svc/contract"
import { leftOut, unreached } from "./exclusions.ts"

/** Replies by operationId and status. */
type Reached = Readonly<Record<string, Readonly<Record<string, number>>>>

const isSuccess = (status: string): boolean => status.startsWith("2") || status.startsWith("3")

export interface ReachReport {
  readonly text: string
  /** Operations without a success and without a reason for that, or the other way round, and those that lost their caller. */
  readonly failed: boolean
}

/** So many replies to requests whose key schemathesis made up are no sign that the run's own key was lost. */
const STRANGERS_MAX = 5

/** Whether it tells its caller by 401 that a password or a code is wrong. */
const checksSecrets = ({ faults = [] }: Operation): boolean =>
  faults.some(code => faultSpec(code).status === 401)

/** Operations of keys that answered oftener that they do not know the key. */
const withoutCaller = (reached: Reached): string[] =>
  allOperations
    .filter(
      operation =>
        operation.scope !== "session" &&
        operation.scope !== "public" &&
        !checksSecrets(operation) &&
        (reached[operation.id]?.["401"] ?? 0) > STRANGERS_MAX,
    )
    .map(({ id }) => id)

/** Of a run over all operations, from the file that hooks.py writes. */
export const readReached = (file: string): ReachReport => {
  const reached = JSON.parse(readFileSync(file, "utf8")) as Reached
  const called = allOperations.filter(operation => isOurs(operation) && !(operation.id in leftOut))
  const without = called.filter(({ id }) => !Object.keys(reached[id] ?? {}).some(isSuccess))
  const missing = without.filter(({ id }) => !(id in unreached))
  const stale = called.filter(operation => operation.id in unreached && !without.includes(operation))
  const statuses = (id: string) =>
    Object.entries(reached[id] ?? {}).map(([status, count]) => `${count} × ${status}`)
  const lost = withoutCaller(reached)
  const lines = [
    `${called.length - without.length} of ${called.length} operations reached a success`,
    ...missing.map(({ id }) => `no success of ${id}: ${statuses(id).join(", ") || "not called"}`),
    ...stale.map(({ id }) => `${id} reached a success: it needs no reason in exclusions.ts`),
    ...lost.map(id => `the run's key is refused by ${id}: ${statuses(id).join(", ")}`),
    "",
  ]
  return { text: lines.join("\n"), failed: missing.length + stale.length + lost.length > 0 }
}
