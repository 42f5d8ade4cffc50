/** What keys are made for, and the scopes that belong to it. */

export interface Scope {
  readonly name: string
  readonly service: string
  readonly action: string
  readonly platform: boolean
  readonly description: string
}

export interface Draft {
  readonly name: string
  readonly type: "secret" | "full_access" | "publishable" | "service_account"
  readonly scopes: ReadonlySet<string>
  readonly read_only: boolean
  readonly require_approval: boolean
  /** Of this project alone, else of the whole organization. */
  readonly of: "project" | "organization"
  readonly days: string
}

interface Template {
  readonly title: string
  readonly text: string
  readonly fill: (scopes: readonly Scope[]) => Partial<Draft>
}

const named = (scopes: readonly Scope[], test: (scope: Scope) => boolean): ReadonlySet<string> =>
  new Set(scopes.filter(scope => !scope.platform && test(scope)).map(({ name }) => name))

const DEPLOYS = /^(functions|services|compute|build|registry|cron):/

export const templates: readonly Template[] = [
  {
    title: "An agent",
    text: "Works in this project; what is high-risk waits for a person.",
    fill: scopes => ({
      name: "agent",
      type: "secret",
      require_approval: true,
      read_only: false,
      days: "30",
      scopes: named(scopes, ({ service }) => service !== "billing" && service !== "compliance"),
    }),
  },
  {
    title: "Continuous integration",
    text: "Builds, pushes and deploys, and reads no data.",
    fill: scopes => ({
      name: "ci",
      type: "service_account",
      require_approval: false,
      read_only: false,
      days: "90",
      scopes: named(scopes, ({ name }) => DEPLOYS.test(name)),
    }),
  },
  {
    title: "Reading only",
    text: "Sees everything of the project and changes nothing.",
    fill: scopes => ({
      name: "reader",
      type: "secret",
      require_approval: false,
      read_only: true,
      days: "90",
      scopes: named(scopes, ({ action }) => /^(read|logs|models)$/.test(action)),
    }),
  },
  {
    title: "A web page",
    text: "May be public: it only lets your users sign in and reads what you publish.",
    fill: () => ({
      name: "web",
      type: "publishable",
      scopes: new Set(),
      require_approval: false,
      read_only: false,
    }),
  },
  {
    title: "Everything",
    text: "All scopes of resources. For yourself, and never for a program of others.",
    fill: () => ({
      name: "everything",
      type: "full_access",
      scopes: new Set(),
      require_approval: false,
      read_only: false,
      days: "90",
    }),
  },
]

const ACTIONS = ["read", "write", "manage"]

/** Services in their rows, actions in the order in which they grow. */
export const matrixOf = (
  scopes: readonly Scope[],
): readonly { readonly service: string; readonly scopes: readonly Scope[] }[] => {
  const rank = ({ action }: Scope) => {
    const at = ACTIONS.indexOf(action)
    return at < 0 ? 1.5 : at
  }
  const services = [
    ...new Set(scopes.filter(({ platform }) => !platform).map(({ service }) => service)),
  ].sort()
  return services.map(service => ({
    service,
    scopes: scopes
      .filter(scope => scope.service === service && !scope.platform)
      .sort((a, b) => rank(a) - rank(b)),
  }))
}

/** The body of the request that makes it. */
export const bodyOf = (draft: Draft, project: string | undefined) => ({
  name: draft.name,
  type: draft.type,
  ...(draft.type === "secret" || draft.type === "service_account"
    ? { scopes: [...draft.scopes].sort() }
    : {}),
  ...(draft.of === "project" || draft.type === "publishable"
    ? { project_id: project ?? null }
    : { project_id: null }),
  ...(draft.type === "publishable"
    ? {}
    : { read_only: draft.read_only, require_approval: draft.require_approval }),
  ...(draft.type === "publishable"
    ? {}
    : draft.days === ""
      ? { never_expires: true }
      : { expires_in_days: Number(draft.days) }),
})
