/** Writes the SDK's table of routes from the contract. */
import {
  areas,
  faultCodes,
  faultSpec,
  isList,
  isOurs,
  mutates,
  type Operation,
  type TObject,
  wireCode,
} from "@svc/contract"

/** Statuses after which a client tries again unless it knows that the code is final. */
const transientStatuses: readonly number[] = [429, 502, 503, 504]

/** The text of packages/sdk/src/routes.gen.ts. */
export const renderRoutes = (): string => {
  const tables = Object.entries(areas).map(([area, { operations }]) => {
    const rows = Object.entries(operations)
      .filter(([, operation]) => isOurs(operation))
      .map(([key, operation]) => `    ${key}: ${renderRoute(operation)},`)
    return `  ${area}: {\n${rows.join("\n")}\n  },`
  })
  return `// Made from the contract by \`npm run gen\`. Changes belong there.
import type { Routes } from "./route.ts"

export const routes = {
${tables.join("\n")}
} as const satisfies Routes

/** Codes after which the same request may succeed. */
export const retryableCodes: readonly string[] = ${JSON.stringify(retryableCodes())}

/** Codes of a status that usually passes which do not pass. */
export const finalCodes: readonly string[] = ${JSON.stringify(finalCodes())}
`
}

const renderRoute = (operation: Operation): string => {
  const { method, path, effect, envelope, project, content, idempotency } = operation
  const keyed = idempotency === "idempotency-key" || (mutates(operation) && idempotency === undefined)
  const list = Object.values(operation.replies).some(schema => schema !== null && isList(schema))
  const route = {
    method,
    path,
    params: namesOf(operation.params),
    query: namesOf(operation.query),
    body: content?.request ?? (operation.body ? "json" : undefined),
    bodyAs: operation.bodyAs,
    reply: content?.reply === "json" ? undefined : content?.reply,
    effect,
    keyed: keyed || undefined,
    once: idempotency === "none" || (effect === "read-or-write" && !idempotency) || undefined,
    envelope: envelope === "data" ? undefined : envelope,
    list: list || undefined,
    project: project !== "none" || undefined,
  }
  const fields = Object.entries(route).filter(([, value]) => value !== undefined)
  return `{ ${fields.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")} }`
}

const namesOf = (schema: TObject | undefined): string[] | undefined => {
  const names = Object.keys(schema?.properties ?? {})
  return names.length > 0 ? names : undefined
}

// OAuth's 400s are answers of another protocol, whose clients poll by its own rules.
const retryableCodes = (): string[] =>
  unique(faultCodes.filter(code => faultSpec(code).retryable && faultSpec(code).status !== 400).map(wireCode))

const finalCodes = (): string[] =>
  unique(
    faultCodes
      .filter(code => !faultSpec(code).retryable && transientStatuses.includes(faultSpec(code).status))
      .map(wireCode),
  )

const unique = (codes: readonly string[]): string[] => [...new Set(codes)].sort()
