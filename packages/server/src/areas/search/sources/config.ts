import { SEARCH_URLS_MAX } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import { isUuid } from "../../../kernel/id.ts"
import type { SourceType } from "../store.ts"

export interface DatabaseConfig {
  readonly database_id?: string
  readonly branch_id?: string
  /** `name` or `schema.name`. */
  readonly table: string
  readonly title?: string
  readonly url?: string
  readonly metadata?: readonly string[]
}

export interface StorageConfig {
  readonly bucket: string
  readonly prefix?: string
}

export interface UrlConfig {
  readonly urls: readonly string[]
}

type Check = (value: unknown) => boolean

const TEXT_LENGTH_MAX = 2048
const COLUMNS_MAX = 40

const isText: Check = value => typeof value === "string" && value !== "" && value.length <= TEXT_LENGTH_MAX
const isTexts =
  (max: number): Check =>
  value =>
    Array.isArray(value) && value.length > 0 && value.length <= max && value.every(isText)

const isId: Check = value => typeof value === "string" && isUuid(value)

interface Shape {
  readonly required: Readonly<Record<string, Check>>
  readonly optional: Readonly<Record<string, Check>>
}

const shapes: Readonly<Record<SourceType, Shape>> = {
  inline: { required: {}, optional: {} },
  database: {
    required: { table: isText },
    optional: {
      database_id: isId,
      branch_id: isId,
      title: isText,
      url: isText,
      metadata: isTexts(COLUMNS_MAX),
    },
  },
  storage: { required: { bucket: isText }, optional: { prefix: isText } },
  url: { required: { urls: isTexts(SEARCH_URLS_MAX) }, optional: {} },
}

const refuse = (reason: string): never => {
  throw fault("invalid_parameter", { reason })
}

/** Throws `invalid_parameter` that names what is wrong. */
export const checkConfig = (
  type: SourceType,
  config: Readonly<Record<string, unknown>>,
  urlProblem: (url: string) => string | undefined,
): void => {
  const { required, optional } = shapes[type]
  for (const [name, check] of Object.entries(required)) {
    if (!check(config[name])) refuse(`config.${name} is missing or not valid`)
  }
  for (const [name, value] of Object.entries(config)) {
    const check = required[name] ?? optional[name]
    if (!check) refuse(`a source of type ${type} has no config.${name.slice(0, 64)}`)
    if (!check?.(value)) refuse(`config.${name} is not valid`)
  }
  if (type !== "url") return
  for (const url of config.urls as string[]) {
    const problem = urlProblem(url)
    if (problem) refuse(`${url}: ${problem}`)
  }
}
