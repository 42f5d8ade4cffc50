/** What decides over keys, as tables: a change of who may do what shows as a change of this page. */
import {
  allOperations,
  expandScopes,
  isOurs,
  isScoped,
  type Operation,
  readsByPost,
  refusesReadOnly,
  scopeNames,
} from "../packages/contract/src/index.ts"

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map(cells => `| ${cells.join(" | ")} |`).join("\n")

const names = (operations: readonly Operation[]): string =>
  operations.map(({ name }) => `\`${name}\``).join(", ") || "none yet"

const admitted = (scope: (typeof scopeNames)[number]) =>
  allOperations.filter(
    operation => isScoped(operation) && [operation.scope].flat().some(name => name === scope),
  )

const scopes = (): string =>
  table(
    ["scope", "includes", "operations"],
    scopeNames.map(scope => {
      const others = [...expandScopes([scope])].filter(name => name !== scope)
      return [
        `\`${scope}\``,
        others.length === scopeNames.length - 1
          ? "every scope"
          : others.map(name => `\`${name}\``).join(", "),
        scope === "admin:full" ? `every one; alone ${names(admitted(scope))}` : names(admitted(scope)),
      ]
    }),
  )

const refusedReads = (): Operation[] =>
  allOperations.filter(operation => ["GET", "HEAD"].includes(operation.method) && refusesReadOnly(operation))

/** `docs/generated/authority.md` */
export const renderAuthority = (): string => `# What a key may do

The tables that decide, printed from the contract. Tests ask every operation whether it keeps to them.

## Scopes

A scope admits the operations that name it and no other: writing includes no reading. \`database:query\` includes
\`database:read\`, and \`admin:full\` every scope. \`GET /v1/me\` shows what is in effect.

${scopes()}

## Read-only keys

A read-only key is refused every POST, PUT, PATCH and DELETE but these, which only read:

${table(
  ["operation", "why it only reads"],
  Object.entries(readsByPost).map(([name, reason]) => [`\`${name}\``, reason]),
)}

It may send every GET and HEAD but those that do more than read: ${names(refusedReads())}.

Queries wake a sleeping database, because reading needs a server. A read-only key makes no database, no encryption key
and no push key: what would be made by the first use is a refusal, or 404 \`database_not_provisioned\`.

## High-risk operations

A key with \`require_approval\` gets 202 with an approval, and the operation runs once a person has approved it:
${names(allOperations.filter(({ risk, envelope }) => risk === "high" && envelope !== "s3"))}.

Depending on what is asked: ${names(allOperations.filter(({ risk }) => risk === "by-input"))}. A statement is judged by its
syntax tree: DROP, TRUNCATE, ALTER … DROP, DELETE and UPDATE without a WHERE that names a column, GRANT, REVOKE, roles,
owners and policies, DO and CREATE FUNCTION; a statement that cannot be judged waits too. A schedule is judged by the
statement it would run, and an update of a webhook waits where it gives another secret.

S3 has no answer for waiting, so it refuses such a key: ${names(allOperations.filter(operation => operation.risk !== undefined && !isOurs(operation)))}.
`
