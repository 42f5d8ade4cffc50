/** The contract as the console reads it: an index of all operations, and one file of details for each area. */

/** Who may call. `s`: a signed-in person; `p`: anybody; `k`: a publishable key; `u`: a user of an application. */
export type Caller = "s" | "p" | "k" | "u"

/** `r`: reads; `w`: writes; `d`: destroys. */
export type EffectLetter = "r" | "w" | "d"

export interface AreaRow {
  readonly name: string
  readonly title: string
  readonly summary: string
  /** Heading of the navigation that it stands under. */
  readonly group: string
  /** Name of its file of details. */
  readonly file: string
}

/** As a tuple, because there are hundreds: id, key, area, method, path, summary, effect, caller, whether it answers a list. */
export type OperationTuple = readonly [
  string,
  string,
  number,
  string,
  string,
  string,
  EffectLetter,
  Caller,
  0 | 1,
]

export interface IndexFile {
  readonly areas: readonly AreaRow[]
  readonly operations: readonly OperationTuple[]
}

export interface OperationRow {
  readonly id: string
  readonly key: string
  readonly area: AreaRow
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly effect: EffectLetter
  readonly caller: Caller
  readonly isList: boolean
}

/** A part of JSON Schema that forms understand. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly anyOf?: readonly Schema[]
}

export interface ListShape {
  /** Field of the reply that holds the rows. */
  readonly field: string
  readonly columns: readonly string[]
}

/** What a page of one operation needs beside its row. */
export interface Details {
  readonly description?: string
  readonly scopes?: readonly string[]
  readonly params?: Schema
  readonly query?: Schema
  readonly headers?: Schema
  readonly body?: Schema
  readonly bodyAs?: string
  /** How the body travels; JSON unless said. */
  readonly sends?: string
  readonly replies?: string
  readonly subprotocol?: string
  readonly envelope: string
  /** The path's last parameter keeps its slashes. */
  readonly rest?: true
  /** Whether a project is sent. */
  readonly project: boolean
  readonly risk?: true
  /** The mutation is sent with an Idempotency-Key. */
  readonly keyed?: true
  readonly secrets?: readonly string[]
  readonly example?: Readonly<Record<string, unknown>>
  readonly list?: ListShape
}

export type AreaFile = Readonly<Record<string, Details>>
