import { formatArray } from "./array-text.ts"
import type { Types } from "./pg-types.ts"

const JSON_TYPES: ReadonlySet<string> = new Set(["json", "jsonb"])
const TEXT_TYPES: ReadonlySet<string> = new Set(["text", "varchar", "bpchar"])

const plain = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value as string | number | boolean)

/** Whether the text of a value depends on the type it is for. */
export const needsType = (value: unknown): boolean => typeof value === "object" && value !== null

/**
 * A JSON value as the text of a parameter. Lists become JSON for json, jsonb and text, and PostgreSQL arrays for
 * everything else; other objects become JSON; a string is passed as it is, so for jsonb it holds JSON text.
 */
export const toParameter = (value: unknown, oid: number, types: Types): string | null => {
  if (value === null || value === undefined) return null
  if (!Array.isArray(value)) return plain(value)
  const { name, delimiter } = types.get(oid)
  if (JSON_TYPES.has(name) || TEXT_TYPES.has(name)) return JSON.stringify(value)
  return formatArray(value, plain, delimiter)
}
