/** What schedules and their executions look like. */
import { type Static, T } from "./dsl.ts"
import { Addresses } from "./email-fields.ts"
import { EventType } from "./events-fields.ts"
import { Dictionary, Id, Name, Nullable, OneOf, Time } from "./types.ts"

/** Of one organization. */
export const CRON_SCHEDULES_MAX = 20_000
export const CRON_NEXT_RUNS = 5
/** UTF-8 bytes that are kept of what a target answered. */
export const CRON_RESPONSE_BYTES_MAX = 4_096
/** UTF-8 bytes of a target as JSON. */
export const CRON_TARGET_BYTES_MAX = 65_536
/** Executions that are kept of one schedule, the newest. */
export const CRON_EXECUTIONS_KEPT = 1_000

export const cronTargetTypes = ["http", "function", "topic", "service", "email", "sql"] as const
export type CronTargetType = (typeof cronTargetTypes)[number]

export const cronOverlapPolicies = ["skip", "buffer_one", "buffer_all", "allow_all", "cancel_other"] as const
export type CronOverlapPolicy = (typeof cronOverlapPolicies)[number]

export const cronCatchupPolicies = ["latest", "all", "none"] as const
export type CronCatchupPolicy = (typeof cronCatchupPolicies)[number]

export const cronExecutionStatuses = [
  ...(["queued", "running", "succeeded", "failed", "timed_out", "skipped", "missed", "cancelled"] as const),
] as const
export type CronExecutionStatus = (typeof cronExecutionStatuses)[number]

export const cronTriggers = ["schedule", "manual", "catchup"] as const
export type CronTrigger = (typeof cronTriggers)[number]

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const
const closed = { additionalProperties: false } as const

export const CronTarget = T.Union([
  T.Object(
    {
      type: T.Literal("http"),
      url: T.String({ minLength: 1, maxLength: 2048, description: "Must lead to a public address" }),
      method: T.Optional(OneOf(methods)),
      headers: T.Optional(
        Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 8192 }), {
          description:
            "Kept encrypted. Values of headers that look like credentials are shown as `***`, and `***` keeps them",
        }),
      ),
      body: T.Optional(T.Unknown({ description: "A string is sent as it is, anything else as JSON" })),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("topic"),
      topic_id: Id,
      event_type: EventType,
      data: T.Optional(T.Record(T.String(), T.Unknown())),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("email"),
      template: T.String({ minLength: 1, maxLength: 128 }),
      to: Addresses,
      data: T.Optional(T.Record(T.String(), T.Unknown())),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("sql"),
      database_id: T.Optional(Nullable(Id)),
      statement: T.String({ minLength: 1, maxLength: 32_768, description: "One statement" }),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("function"),
      function_name: T.String({ minLength: 1, maxLength: 128 }),
      payload: T.Optional(T.Unknown()),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("service"),
      service_id: T.String({ minLength: 1, maxLength: 128 }),
      path: T.String({ minLength: 1, maxLength: 2048 }),
      method: T.Optional(OneOf(methods)),
    },
    closed,
  ),
])

/** What a schedule of that kind does. */
export type CronTargetOf<Type extends CronTargetType = CronTargetType> = Extract<
  Static<typeof CronTarget>,
  { type: Type }
>

export const CronExpression = T.String({
  minLength: 1,
  maxLength: 200,
  description:
    "Minute, hour, day of the month, month, day of the week; a sixth field in front for the second. `L`, `W`, `#` and " +
    "`@daily` names are known, and so is `CRON_TZ=Europe/Berlin ` in front.",
})
export const Timezone = T.String({
  minLength: 1,
  maxLength: 64,
  description: "A name of the IANA database. UTC when left out",
})

export const cronFields = {
  name: T.Optional(Name),
  cron: T.Optional(CronExpression),
  interval_seconds: T.Optional(T.Integer({ minimum: 1, maximum: 366 * 86_400 })),
  run_at: T.Optional(T.String({ format: "date-time", description: "Once, at this time" })),
  timezone: T.Optional(Timezone),
  target: T.Optional(CronTarget),
  function_name: T.Optional(
    T.String({ minLength: 1, maxLength: 128, description: "Short for a target of the type `function`" }),
  ),
  enabled: T.Optional(T.Boolean({ description: "true when left out; false pauses the schedule" })),
  overlap_policy: T.Optional(OneOf(cronOverlapPolicies)),
  catchup_policy: T.Optional(OneOf(cronCatchupPolicies)),
  catchup_window_seconds: T.Optional(T.Integer({ minimum: 10, maximum: 366 * 86_400 })),
  jitter_seconds: T.Optional(T.Integer({ minimum: 0, maximum: 86_400 })),
  timeout_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 900,
      description:
        "How long one attempt may take: 30 when left out; a function takes as long as its own limit, and never longer",
    }),
  ),
  max_retries: T.Optional(T.Integer({ minimum: 0, maximum: 20, description: "After the first attempt" })),
  pause_on_failure: T.Optional(T.Boolean({ description: "Pause once an execution has failed for good" })),
  start_at: T.Optional(Nullable(Time)),
  end_at: T.Optional(Nullable(Time)),
  description: T.Optional(T.String({ maxLength: 500 })),
}

export const cronAliases = { schedule: "cron", expression: "cron" } as const

const scheduleFields = {
  id: Id,
  name: T.String(),
  description: T.String(),
  project_id: Nullable(Id),
  cron: Nullable(T.String()),
  interval_seconds: Nullable(T.Integer()),
  run_at: Nullable(Time),
  timezone: T.String(),
  target: T.Record(T.String(), T.Unknown(), {
    description: "As it was given; credentials in headers are `***`",
  }),
  enabled: T.Boolean(),
  status: OneOf(["active", "paused", "completed"]),
  overlap_policy: OneOf(cronOverlapPolicies),
  catchup_policy: OneOf(cronCatchupPolicies),
  catchup_window_seconds: T.Integer(),
  jitter_seconds: T.Integer(),
  timeout_seconds: T.Integer(),
  max_retries: T.Integer(),
  pause_on_failure: T.Boolean(),
  start_at: Nullable(Time),
  end_at: Nullable(Time),
  next_run_at: Nullable(Time),
  next_runs: T.Array(Time, { description: "The next five at most; none while it is paused" }),
  last_run_at: Nullable(Time),
  last_status: Nullable(OneOf(cronExecutionStatuses)),
  failure_count: T.Integer({ description: "Executions that failed since the last that succeeded" }),
  signing_secret_hint: T.String({ description: "The last four characters of the signing secret" }),
  created_at: Time,
  updated_at: Time,
}

export const Schedule = T.Object(scheduleFields)
export const NewSchedule = T.Object({
  ...scheduleFields,
  signing_secret: T.Optional(
    T.String({
      description: "Requests of an http target are signed with it as Standard Webhooks says. Shown this once",
    }),
  ),
})

export const Execution = T.Object({
  id: Id,
  schedule_id: Id,
  scheduled_for: Time,
  trigger: OneOf(cronTriggers),
  status: OneOf(cronExecutionStatuses),
  attempt: T.Integer({ description: "0 before the first" }),
  started_at: Nullable(T.String({ format: "date-time", description: "Of the last attempt" })),
  finished_at: Nullable(Time),
  duration_ms: Nullable(T.Integer({ description: "Of the last attempt" })),
  lag_ms: Nullable(
    T.Integer({
      description: "From the time it was due, jitter included, to the start of the first attempt",
    }),
  ),
  status_code: Nullable(T.Integer()),
  response_body: Nullable(T.String({ description: "The first 4 KiB" })),
  error: Nullable(T.String()),
  skip_reason: Nullable(OneOf(["overlap", "outside_catchup_window"])),
})
