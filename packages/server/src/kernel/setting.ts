/** Settings: environment variables that a module declares beside its code, and gets parsed. */

/** What every setting says of itself. */
export interface Setting<Value> {
  readonly variable: string
  readonly description: string
  /** The default as documentation shows it. */
  readonly default: string
  readonly secret?: true
  /** Throws a RangeError that says what the value must be. */
  readonly parse: (text: string | undefined) => Value
}

/** The settings of a module, by the names that its code has for them. */
export type Settings = Readonly<Record<string, Setting<unknown>>>

/** Their values. */
export type ValuesOf<Declared extends Settings> = {
  readonly [Name in keyof Declared]: ReturnType<Declared[Name]["parse"]>
}

export interface ReadSettings {
  /** The values of settings that were declared to the reader. */
  of<Declared extends Settings>(settings: Declared): ValuesOf<Declared>
  readonly variables: ReadonlySet<string>
  /** What is wrong, a phrase each. */
  readonly problems: readonly string[]
}

/** Reads all of them before anything is said of the first that is wrong. Modules may share a setting, but not a variable. */
export const readSettings = (
  groups: readonly Settings[],
  env: Readonly<Record<string, string | undefined>>,
): ReadSettings => {
  const problems: string[] = []
  const values = new Map<Setting<unknown>, unknown>()
  const variables = new Set<string>()
  for (const setting of new Set(groups.flatMap(group => Object.values(group)))) {
    const { variable } = setting
    if (variables.has(variable)) throw new Error(`two modules declare ${variable}`)
    variables.add(variable)
    values.set(setting, undefined)
    try {
      values.set(setting, setting.parse(env[variable] || undefined))
    } catch (error) {
      problems.push(`${variable} ${error instanceof Error ? error.message : "is not valid"}`)
    }
  }
  const readValue = (setting: Setting<unknown>) => {
    if (!values.has(setting)) throw new Error(`${setting.variable} was not read`)
    return values.get(setting)
  }
  return {
    problems,
    variables,
    of: <Declared extends Settings>(settings: Declared) =>
      Object.fromEntries(
        Object.entries(settings).map(([name, setting]) => [name, readValue(setting)]),
      ) as ValuesOf<Declared>,
  }
}
