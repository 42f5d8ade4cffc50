/** What every setting says of itself. */
export interface Setting<Value> {
  readonly variable: string
  readonly meaning: string
  /** The default as documentation shows it. */
  readonly otherwise: string
  readonly secret?: true
  /** Throws a RangeError that says what the value must be. */
  readonly parse: (text: string | undefined) => Value
}
