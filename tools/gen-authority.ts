/** What decides over keys, as tables: a change of who may do what shows as a change of this page. */
import {
  allAreas,
  allOperations,
  expandScopes,
  isOurs,
  isScoped,
  type Operation,
  readsByPost,
  refusesReadOnly,
  scopeNames,
  takesOrganization,
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

/** By area; an area whose operations differ has a row for each kind. */
const belongings = (): string =>
  table(
    ["belongs to", "area", "operations"],
    (["organization", "installation", "caller", "project"] as const).flatMap(belonging =>
      allAreas.flatMap(area => {
        const operations = Object.values(area.operations)
        const those = operations.filter(operation => operation.belongs === belonging)
        if (those.length === 0) return []
        return [[belonging, area.name, those.length === operations.length ? "all" : names(those)]]
      }),
    ),
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

## What belongs to whom

A key may be bound to a project, and a member limited to some. What belongs to a **project** is, for another project's keys and
members, like what never existed; a call in no project, by a key of the whole organization, has things of the organization's own.
What belongs to the **organization** is shared by its projects: their keys read it, and 403 \`organization_reach_required\` is the
answer where they would change it, unless an owner or administrator made them with \`organization_reach\`, as the first start
does with the installation's first key: ${names(allOperations.filter(operation => takesOrganization(operation) && operation.belongs === "organization"))}.
What is the **caller's** is the key's or the person's own: its inbox, tickets, approvals. What is the **installation's** is
everybody's, or takes \`admin:full\` in the organization that runs it, with the organization's reach.

${belongings()}

A mail template belongs to the project it was made in, or to the organization, whose templates all projects send from and only
those limited to no project change. A text is decrypted in the project in which it was encrypted; one that was encrypted in no
project, or before texts belonged to projects, by a key of the whole organization that names none. A person sees all tickets and
chats of the organization, or the own ones where limited to projects; a key sees those that it opened, or that a key opened from
which it was rotated, and all with \`admin:full\` and the organization's reach. Operations of signed-in people look at the role besides.

## High-risk operations

A key with \`require_approval\` gets 202 with an approval, and the operation runs once a person has approved it:
${names(allOperations.filter(({ risk, envelope }) => risk === "high" && envelope !== "s3"))}.

Depending on what is asked: ${names(allOperations.filter(({ risk }) => risk === "by-input"))}. A statement is judged by its
syntax tree: DROP, TRUNCATE, ALTER … DROP, DELETE and UPDATE without a WHERE that names a column, GRANT, REVOKE, roles,
owners and policies, DO and CREATE FUNCTION; a statement that cannot be judged waits too. A schedule is judged by the
statement it would run, and an update of a webhook waits where it gives another secret.

S3 has no answer for waiting, so it refuses such a key: ${names(allOperations.filter(operation => operation.risk !== undefined && !isOurs(operation)))}.
`
