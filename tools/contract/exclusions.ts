/** What schemathesis is not asked to judge, and why; `npm run schemathesis` prints it. */
import { type FaultCode, faultSpec, type Operation } from "@svc/contract"

/** Operations that it does not call. */
export const leftOut: Readonly<Record<string, string>> = {
  accountLogout: "ends the session of the run",
  connectNeonSocket: "a WebSocket, whose success is no reply that can be checked",
  sandboxTerminal: "a WebSocket, whose success is no reply that can be checked",
  computerTerminal: "a WebSocket, whose success is no reply that can be checked",
}

/** Operations that may refuse fields that fit their schema as not valid, because no schema can say it. */
const beyondSchemas: Readonly<Record<string, string>> = {
  computerGetOrCreateByName: "a name in the body has to be the one in the path",
  searchVectors: "a filter has a grammar of its own",
  countVectors: "a filter has a grammar of its own",
  deleteVectors: "a filter has a grammar of its own",
}

/** Statuses of refusals that schemathesis does not take for refusals of an invalid request. */
export const refusedBesides = [412, 413, 416, 431]

const notes = {
  "refusals of valid requests":
    "by a code that the operation declares, for what no schema says; never validation_failed",
  "server errors":
    "as the operation declares them, and 501 and 503 for what an installation lacks; never 500",
  "412, 413, 416, 431":
    "refuse an invalid request too: an unknown version of tus, an address that is too long",
  "X-Svc-Project, Idempotency-Key": "sent to the operations of one area: the same code reads them before all",
  "null characters": "not sent: no text may hold them, which null-characters.test.ts checks",
}

/** Codes by which an operation refuses what fits its schema: a limit is reached, a ciphertext is another tenant's. */
export const refusalsOf = ({ id, faults = [] }: Operation): FaultCode[] => [
  ...faults.filter(code => faultSpec(code).status < 500),
  ...(id in beyondSchemas ? (["validation_failed"] as const) : []),
]

const NOT_CONFIGURED = [501, 503]

/** Server errors that an operation may answer. */
export const failuresOf = ({ faults = [] }: Operation): number[] => [
  ...new Set([
    ...NOT_CONFIGURED,
    ...faults.map(code => faultSpec(code).status).filter(status => status > 500),
  ]),
]

export const describeExclusions = (): string =>
  [
    ...Object.entries(leftOut).map(([id, why]) => `not called: ${id}: ${why}`),
    ...Object.entries(beyondSchemas).map(([id, why]) => `may refuse what fits its schema: ${id}: ${why}`),
    ...Object.entries(notes).map(([what, why]) => `${what}: ${why}`),
    "",
  ].join("\n")
