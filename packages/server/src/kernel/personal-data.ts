/** What an area says of the people that its tables tell of, so that it can be given out and erased on request. */

/** Whose rows of a table are: a column with the id of an organization, or of one of its projects. */
export type TenantColumn = { readonly organization: string } | { readonly project: string }

export interface PersonMatch {
  /** Columns with ids of people. */
  readonly ids?: readonly string[]
  /** Columns with addresses. */
  readonly emails?: readonly string[]
  /** Rows that belong to rows of another declared table: `column` names its `key`. */
  readonly through?: { readonly column: string; readonly table: string; readonly key: string }
}

export interface PersonalTable {
  /** `schema.table` */
  readonly table: string
  readonly tenant: TenantColumn
  readonly match: PersonMatch
  /** Each row is a person: their id and address lead to the other tables. */
  readonly identity?: { readonly id: string; readonly email: string }
  /** What is never given out, beside columns that are named as secrets. */
  readonly omits?: readonly string[]
  /** Deletes the rows, replaces what is in their columns, or keeps them for a reason. */
  readonly erasure:
    | "delete"
    | { readonly replace: Readonly<Record<string, string | null>> }
    | { readonly keep: string }
  /** Column by the field that a correction names. */
  readonly corrects?: Readonly<Partial<Record<CorrectedField, string>>>
}

export type CorrectedField = "name" | "email"

/** A table that holds something of people and is not touched on request, with the reason. */
export interface KeptTable {
  readonly table: string
  readonly reason: string
}

export interface PersonalData {
  /** In the order in which rows can be deleted. */
  readonly tables: readonly PersonalTable[]
  readonly kept?: readonly KeptTable[]
}

export type PersonalDataSource = () => Promise<{ readonly personalData: PersonalData }>
