/** What each plan allows. `null` is unlimited. */

export const planNames = ["free", "chat_plus", "starter", "pro", "team", "business", "enterprise"] as const

export type PlanName = (typeof planNames)[number]

/** Amounts a billing period includes; use past them is charged per unit (specification 8.3). */
export interface IncludedQuotas {
  readonly storage_gb: number | null
  readonly email_sends: number | null
  readonly build_minutes: number | null
  readonly service_hours: number | null
  readonly vector_ops: number | null
}

/** Plans that have no price past what they include (specification 8.3): there it ends. Others are counted and go on. */
const ENDING: ReadonlySet<PlanName> = new Set<PlanName>(["free", "chat_plus"])

/** The quota at which a plan refuses more; null where it goes on. */
export const endOfQuota = (plan: PlanName, quota: keyof IncludedQuotas): number | null =>
  ENDING.has(plan) ? plans[plan].included[quota] : null

export interface Plan {
  readonly title: string
  /** Shared by all keys of the organization (specification 8.1). */
  readonly requests_per_second: number
  /** Counted from 00:00 UTC (specification 8.1). */
  readonly ai_requests_per_day: number | null
  readonly projects: number | null
  /** Members of the organization, owners included. */
  readonly seats: number | null
  /** Live keys; connected apps are counted by themselves against the same number. */
  readonly api_keys: number | null
  readonly custom_domains: number | null
  /** Instances that the functions of one project keep together while nothing is invoked; the specification has none. */
  readonly kept_instances: number
  /** Disk of one tenant database with its branches, and of all databases of a project; the specification has none. */
  readonly database_gb: number | null
  readonly project_databases_gb: number | null
  readonly included: IncludedQuotas
}

// Specification 8.3, column Free.
const freeQuotas = {
  storage_gb: 1,
  email_sends: 100,
  build_minutes: 10,
  service_hours: 0,
  vector_ops: 1_000,
} as const

export const plans = {
  free: {
    title: "Free",
    requests_per_second: 20, // specification 8.1
    ai_requests_per_day: 500, // specification 8.1
    projects: 1, // specification 8.2
    seats: 1, // specification 8.2
    api_keys: 1, // specification 8.2
    custom_domains: 1, // specification 8.2
    kept_instances: 1,
    database_gb: 1,
    project_databases_gb: 2,
    included: freeQuotas,
  },
  chat_plus: {
    title: "Chat Plus",
    requests_per_second: 20, // specification 8.1
    ai_requests_per_day: 500, // specification 8.1
    projects: 1, // specification 8.2
    seats: 1, // specification 8.2
    api_keys: 1, // specification 8.2
    custom_domains: 1, // specification 8.2
    kept_instances: 1,
    database_gb: 1,
    project_databases_gb: 2,
    // Specification 8.3 has no such column; 8.1 and 8.2 treat this plan as Free.
    included: freeQuotas,
  },
  starter: {
    title: "Starter",
    requests_per_second: 50, // specification 8.1
    ai_requests_per_day: null, // specification 8.1
    projects: 5, // specification 8.2
    seats: 2, // specification 8.2
    api_keys: 3, // specification 8.2
    custom_domains: 3, // specification 8.2
    kept_instances: 2,
    database_gb: 5,
    project_databases_gb: 10,
    included: {
      storage_gb: 5, // specification 8.3
      email_sends: 5_000, // specification 8.3
      build_minutes: 100, // specification 8.3
      service_hours: 100, // specification 8.3
      vector_ops: 50_000, // specification 8.3
    },
  },
  pro: {
    title: "Pro",
    requests_per_second: 100, // specification 8.1
    ai_requests_per_day: null, // specification 8.1
    projects: 20, // specification 8.2
    seats: 5, // specification 8.2
    api_keys: 5, // specification 8.2
    custom_domains: 10, // specification 8.2
    kept_instances: 5,
    database_gb: 25,
    project_databases_gb: 50,
    included: {
      storage_gb: 25, // specification 8.3
      email_sends: 25_000, // specification 8.3
      build_minutes: 500, // specification 8.3
      service_hours: 500, // specification 8.3
      vector_ops: 500_000, // specification 8.3
    },
  },
  team: {
    title: "Team",
    requests_per_second: 200, // specification 8.1
    ai_requests_per_day: null, // specification 8.1
    projects: null, // specification 8.2
    seats: 10, // specification 8.2
    api_keys: 10, // specification 8.2
    custom_domains: null, // specification 8.2
    kept_instances: 10,
    database_gb: 100,
    project_databases_gb: 200,
    included: {
      storage_gb: 100, // specification 8.3
      email_sends: 100_000, // specification 8.3
      build_minutes: 2_000, // specification 8.3
      service_hours: 2_000, // specification 8.3
      vector_ops: 5_000_000, // specification 8.3
    },
  },
  business: {
    title: "Business",
    requests_per_second: 500, // specification 8.1
    ai_requests_per_day: null, // specification 8.1
    projects: null, // specification 8.2
    seats: 25, // specification 8.2
    api_keys: 25, // specification 8.2
    custom_domains: null, // specification 8.2
    kept_instances: 25,
    database_gb: 500,
    project_databases_gb: 1_000,
    included: {
      storage_gb: 500, // specification 8.3
      email_sends: 500_000, // specification 8.3
      build_minutes: 10_000, // specification 8.3
      service_hours: 10_000, // specification 8.3
      vector_ops: 25_000_000, // specification 8.3
    },
  },
  enterprise: {
    title: "Enterprise",
    requests_per_second: 1_000, // specification 8.1
    ai_requests_per_day: null, // specification 8.1
    projects: null, // specification 8.2
    seats: null, // specification 8.2
    api_keys: null, // specification 8.2
    custom_domains: null, // specification 8.2
    kept_instances: 50,
    database_gb: null,
    project_databases_gb: null,
    // Specification 8.3 has no such column; 8.2 gives this plan everything without limit.
    included: {
      storage_gb: null,
      email_sends: null,
      build_minutes: null,
      service_hours: null,
      vector_ops: null,
    },
  },
} as const satisfies Record<PlanName, Plan>

/** `max: null` is no limit; what the specification leaves out is absent. */
export interface Bounds {
  readonly min?: number
  readonly default?: number
  readonly max: number | null
}

/**
 * Limits of one workload. Those of sandboxes and compute are soft defaults of every plan, raised on request
 * (specification 8.4). A GB of memory is 1024 MB.
 */
export const workloadLimits = {
  function: {
    timeout_seconds: { default: 30, max: 300 }, // specification 8.4
    memory_mb: { default: 128, max: 4_096 }, // specification 8.4
    vcpus: { default: 0.25, max: 2 }, // specification 8.4
    payload_bytes: { max: 10 * 1024 * 1024 }, // specification 8.4
  },
  ephemeral_sandbox: {
    memory_mb: { min: 256, max: 4_096 }, // specification 8.4
    vcpus: { min: 0.5, max: 2 }, // specification 8.4
    disk_gb: { max: 1 }, // specification 8.4
    timeout_seconds: { max: 300 }, // specification 8.4
  },
  persistent_sandbox: {
    memory_mb: { min: 512, max: 16_384 }, // specification 8.4
    vcpus: { min: 1, max: 8 }, // specification 8.4
    disk_gb: { min: 10, max: 100 }, // specification 8.4
    timeout_seconds: { max: null }, // specification 8.4
  },
  compute: {
    memory_mb: { min: 128, max: 16_384 }, // specification 8.4
    vcpus: { min: 0.25, max: 8 }, // specification 8.4
    disk_gb: { min: 1, max: 100 }, // specification 8.4
    /** Together in one project. */
    instances: { min: 1, max: 50 }, // specification 8.4
  },
} as const satisfies Record<string, Record<string, Bounds>>
