/** Tools computed from the contract: one for each operation that a program can call with JSON or a file. */
import {
  acceptedMask,
  admits,
  allOperations,
  isOurs,
  isScoped,
  type Operation,
  refusesReadOnly,
  type Scope,
  takesOrganization,
} from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import { close } from "../../kernel/validation.ts"

type JsonSchema = Record<string, unknown>

export interface ToolDefinition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema
  readonly annotations: {
    readonly title: string
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
  }
}

/** Streams, WebSockets and forms fit into no result of a tool. */
const isCallable = ({ method, content }: Operation): boolean =>
  method !== "HEAD" &&
  ["json", "bytes"].includes(content?.request ?? "json") &&
  ["json", "bytes"].includes(content?.reply ?? "json")

/** Operations that need a signed-in person, such as approving, are no tools, even for an agent that holds a session. */
const isForPrograms = ({ scope }: Operation): boolean =>
  scope !== "public" && scope !== "publishable" && scope !== "end-user" && scope !== "session"

/** `executeSql` → `execute_sql` */
const snakeCase = (id: string): string => id.replaceAll(/(?<=[a-z0-9])[A-Z]/g, "_$&").toLowerCase()

export const operationTools: ReadonlyMap<string, Operation> = new Map(
  allOperations
    .filter(operation => operation.area !== "mcp" && isOurs(operation))
    .filter(operation => isCallable(operation) && isForPrograms(operation))
    .map(operation => [snakeCase(operation.id), operation]),
)

/** Whether the pipeline would let the caller call the operation at all. */
export const isAdmitted = (operation: Operation, principal: Principal): boolean =>
  !(
    isScoped(operation) && !admits(principal.held, acceptedMask(operation.scope as Scope | readonly Scope[]))
  ) &&
  !(principal.readOnly && refusesReadOnly(operation)) &&
  !(takesOrganization(operation) && !principal.organizationReach)

/** Fields of a tool whose operation takes the bytes of a file. */
export const FILE_FIELDS = {
  content: { type: "string", description: "The file as text" },
  content_base64: { type: "string", description: "The file as base64, in place of `content`" },
  content_type: { type: "string", description: "Its media type, such as `text/html`" },
} as const

export const takesFile = ({ content }: Operation): boolean => content?.request === "bytes"

/** Marks of ours in schemas say nothing to a model. */
const withoutMarks = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(withoutMarks)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name.startsWith("x-svc-") ? [] : [[name, withoutMarks(value)]],
    ),
  )
}

/** One flat object, as the SDK and the command line have it. */
const inputSchemaOf = (operation: Operation): JsonSchema => {
  const parts = [operation.params, operation.query, operation.body].filter(part => part !== undefined)
  const properties = Object.assign({}, ...parts.map(part => part.properties))
  const required = parts.flatMap(part => (part.required as readonly string[] | undefined) ?? [])
  const isOpen = parts.some(part => "additionalProperties" in part && part.additionalProperties === true)
  return withoutMarks(
    close({
      type: "object",
      properties: takesFile(operation) ? { ...properties, ...FILE_FIELDS } : properties,
      ...(required.length > 0 && { required }),
      ...(isOpen && { additionalProperties: true }),
    }),
  ) as JsonSchema
}

const descriptionOf = ({ summary, description, risk }: Operation): string =>
  [summary, description, risk === "high" && "With a key that requires approval, it waits for a person."]
    .filter(part => typeof part === "string")
    .map(part => (/[.!?]$/.test(part) ? part : `${part}.`))
    .join(" ")

const definitionOf = (name: string, operation: Operation): ToolDefinition => {
  const { summary, effect, risk, idempotency } = operation
  return {
    name,
    title: summary,
    description: descriptionOf(operation),
    inputSchema: inputSchemaOf(operation),
    annotations: {
      title: summary,
      readOnlyHint: effect === "read",
      destructiveHint: effect === "destroy" || effect === "read-or-write" || risk !== undefined,
      idempotentHint: effect === "read" || idempotency === "natural",
    },
  }
}

const definitions = new Map<string, ToolDefinition>()

/** Computed when somebody asks for it. */
export const definitionFor = (name: string, operation: Operation): ToolDefinition => {
  const known = definitions.get(name) ?? definitionOf(name, operation)
  definitions.set(name, known)
  return known
}
