/** What travels in: path, query and header parameters, and the body. */
import {
  type ContentKind,
  EITHER_OR,
  type EitherOr,
  isReplayed,
  MIB,
  type Operation,
  type TSchema,
} from "@svc/contract"
import { close } from "../../validation.ts"
import type { JsonSchema, SchemaCache } from "./schemas.ts"

/** Parameters that many operations have alike. */
export const sharedParameters = {
  Project: {
    name: "X-Svc-Project",
    in: "header",
    description:
      "The project to act in, for a key of the whole organization or a signed-in person. A key bound to a project acts in that one; `X-Project-Id` means the same.",
    schema: { type: "string", format: "uuid" },
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Names this act, so that repeating the request within 24 hours gives the first answer instead of acting again. A fresh UUID for each new act.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" },
  },
} as const

const shared = (name: keyof typeof sharedParameters) => ({ $ref: `#/components/parameters/${name}` })

const described = (
  place: "path" | "query" | "header",
  name: string,
  schema: JsonSchema,
  required: boolean,
  example: unknown,
) => {
  const { description, ...rest } = close(schema) as JsonSchema
  return {
    name,
    in: place,
    ...(required && { required }),
    ...(description !== undefined && { description }),
    schema: rest,
    ...(example !== undefined && { example }),
  }
}

const inPath = ({ path, params, example }: Operation) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
    described(
      "path",
      name,
      (params?.properties[name] ?? { type: "string" }) as JsonSchema,
      true,
      example?.[name],
    ),
  )

const inQuery = ({ query, example }: Operation) =>
  Object.entries(query?.properties ?? {}).map(([name, schema]) =>
    described("query", name, schema as JsonSchema, query?.required?.includes(name) ?? false, example?.[name]),
  )

const inHeaders = ({ headers }: Operation) =>
  Object.entries(headers?.properties ?? {}).map(([name, schema]) =>
    described("header", name, schema as JsonSchema, headers?.required?.includes(name) ?? false, undefined),
  )

export const renderParameters = (operation: Operation): object[] => [
  ...inPath(operation),
  ...inQuery(operation),
  ...inHeaders(operation),
  ...(operation.project === "none" ? [] : [shared("Project")]),
  ...(isReplayed(operation) ? [shared("IdempotencyKey")] : []),
]

export const mediaTypes: Readonly<Record<ContentKind, string>> = {
  json: "application/json",
  bytes: "application/octet-stream",
  multipart: "multipart/form-data",
  form: "application/x-www-form-urlencoded",
  gzip: "application/gzip",
  sse: "text/event-stream",
}

/** Bytes of these types. Whatever any type is, JSON among them, is no string. */
export const bytesContent = (types: readonly string[]): JsonSchema =>
  Object.fromEntries(
    types.map(type => [
      type,
      { schema: type === "*/*" || type.endsWith("json") ? {} : { type: "string", format: "binary" } },
    ]),
  )

/** The fields of the declaration's example that travel in the body. */
const bodyExample = ({ body, bodyAs, example }: Operation): JsonSchema | undefined => {
  if (!body || !example) return undefined
  if (bodyAs !== undefined) return example[bodyAs] as JsonSchema | undefined
  return Object.fromEntries(Object.entries(example).filter(([name]) => name in (body.properties ?? {})))
}

const largest = (bytes: number): string =>
  bytes >= MIB ? `${Math.floor(bytes / MIB)} MiB` : `${bytes} bytes`

/** An absent body counts as an empty object, and where bytes are expected as none of them unless they are required. */
const needsFields = (body: TSchema): boolean => {
  const {
    required = [],
    minProperties = 0,
    [EITHER_OR]: rules = [],
  } = body as { required?: string[]; minProperties?: number; [EITHER_OR]?: EitherOr[] }
  return required.length > 0 || minProperties > 0 || rules.some(({ rule }) => rule !== "at-most-one")
}

/** Undefined for an operation that reads no body. */
export const renderRequestBody = (operation: Operation, bodies: SchemaCache): object | undefined => {
  const { body, bodyAs, content, bodyBytesMax } = operation
  const kind = content?.request ?? "json"
  if (!body && kind === "json") return undefined
  const structured = kind === "json" || kind === "multipart" || kind === "form"
  const example = structured ? bodyExample(operation) : undefined
  return {
    description: `At most ${largest(bodyBytesMax)}.`,
    required: structured ? body !== undefined && needsFields(body) : content?.bytesRequired === true,
    content: structured
      ? {
          [mediaTypes[kind]]: {
            schema: body
              ? bodies.at(bodyAs === undefined ? body : body.properties[bodyAs])
              : { type: "object" },
            ...(example && { example }),
          },
        }
      : bytesContent(content?.requestTypes ?? [mediaTypes[kind]]),
  }
}
