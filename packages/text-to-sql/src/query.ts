/** What a question means, before it is SQL. Tables are indexes into the catalog. */
import type { Column, ForeignKey } from "./catalog.ts"

export interface Ref {
  readonly table: number
  readonly column: Column
  /** The key by which the table is meant, where it is not the usual one: an employee's manager. */
  readonly role?: ForeignKey
}

export type Operator = "=" | "<>" | ">" | ">=" | "<" | "<="
export type Aggregate = "count" | "sum" | "avg" | "min" | "max" | "median"
export type Direction = "asc" | "desc"
export type BucketUnit =
  | "minute"
  | "hour"
  | "day"
  | "week"
  | "month"
  | "quarter"
  | "year"
  | "weekday"
  | "hour of day"

export type Expression =
  | { readonly kind: "column"; readonly ref: Ref }
  | { readonly kind: "rows"; readonly table: number }
  | { readonly kind: "product"; readonly factors: readonly [Ref, Ref] }

export interface Measure {
  readonly fn: Aggregate
  readonly of: Expression
  readonly distinct?: boolean
}

export type Test =
  | {
      readonly kind: "compare"
      readonly ref: Ref
      readonly op: Operator
      readonly value: string | number | boolean
    }
  | { readonly kind: "in"; readonly ref: Ref; readonly values: readonly string[] }
  | { readonly kind: "between"; readonly ref: Ref; readonly low: number; readonly high: number }
  | { readonly kind: "dates"; readonly ref: Ref; readonly from: Date | null; readonly to: Date | null }
  | { readonly kind: "text"; readonly ref: Ref; readonly pattern: string; readonly exact: boolean }
  | { readonly kind: "null"; readonly ref: Ref }
  /** Against the average of the whole column. */
  | { readonly kind: "average"; readonly ref: Ref; readonly op: Operator }
  /** Against the same column of another row that a key names. */
  | { readonly kind: "against"; readonly ref: Ref; readonly op: Operator; readonly role: ForeignKey }
  /** Rows of another table belong to this one: some, none, or as many as the comparison says. */
  | {
      readonly kind: "related"
      readonly table: number
      readonly measure?: Measure
      readonly op?: Operator
      readonly value?: number
    }
  | { readonly kind: "any"; readonly tests: readonly Test[] }

export interface Condition {
  readonly test: Test
  readonly negated: boolean
  /** Conditions of one group speak of the same related rows. */
  readonly group: number
}

export type Group =
  | { readonly kind: "column"; readonly ref: Ref }
  | { readonly kind: "entity"; readonly table: number; readonly role?: ForeignKey }
  | { readonly kind: "bucket"; readonly ref: Ref; readonly unit: BucketUnit }

export type Sorting =
  | { readonly by: "expression"; readonly expression: Expression; readonly direction: Direction }
  | { readonly by: "measure"; readonly measure: Measure; readonly direction: Direction }
  | { readonly by: "group"; readonly index: number; readonly direction: Direction }

export interface Query {
  readonly base: number
  /** Columns to show; with none of these, groups or measures: all of the base. */
  readonly columns: readonly Ref[]
  /** Show the base's columns beside those of other tables. */
  readonly star: boolean
  readonly measures: readonly Measure[]
  readonly groups: readonly Group[]
  readonly conditions: readonly Condition[]
  readonly having: readonly { readonly measure: Measure; readonly op: Operator; readonly value: number }[]
  readonly order: readonly Sorting[]
  readonly limit: number | null
  readonly distinct: boolean
  /** The first so many of each group. */
  readonly firstPer: number | null
  /** Of all rows, how many of a hundred meet the conditions; or, with groups alone, fall to each. */
  readonly percentage: boolean
}

export const tableOfExpression = (expression: Expression): number => {
  if (expression.kind === "rows") return expression.table
  return expression.kind === "product" ? expression.factors[0].table : expression.ref.table
}

export const tableOfTest = (test: Test): number => {
  if (test.kind === "related") return test.measure ? tableOfExpression(test.measure.of) : test.table
  if (test.kind === "any") return test.tests[0] ? tableOfTest(test.tests[0]) : -1
  return test.ref.table
}
export const roleOfTest = (test: Test): ForeignKey | undefined =>
  test.kind === "related" || test.kind === "any" ? undefined : test.ref.role
