/** What schedules and their executions look like. */
import { type Static, T } from "./dsl.ts"
import { Addresses } from "./email-fields.ts"
import { EventType } from "./events-fields.ts"
import { Dictionary, described, Id, Name, Nullable, OneOf, Time } from "./types.ts"

/** Largest number per organization. */
export const CRON_SCHEDULES_MAX = 20_000
export const CRON_NEXT_RUNS = 5
/** UTF-8 bytes of a target's response that are stored. */
export const CRON_RESPONSE_BYTES_MAX = 4_096
/** UTF-8 bytes of a target as JSON. */
export const CRON_TARGET_BYTES_MAX = 65_536
/** Newest executions of one schedule that are stored. */
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
      type: T.Literal("http", { description: "Send an HTTP request" }),
      url: T.String({
        minLength: 1,
        maxLength: 2048,
        description: "Address of the request; it must resolve to a public address",
      }),
      method: T.Optional(OneOf(methods, { description: "Method of the request; `POST` when left out" })),
      headers: T.Optional(
        Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 8192 }), {
          description:
            "Headers of the request, encrypted at rest. Replies show credentials as `***`; sending `***` keeps the stored value",
        }),
      ),
      body: T.Optional(
        T.Unknown({ description: "Body of the request; a string is sent unchanged, anything else as JSON" }),
      ),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("topic", { description: "Publish an event" }),
      topic_id: described(Id, "Topic to publish to"),
      event_type: EventType,
      data: T.Optional(
        T.Record(T.String(), T.Unknown(), { description: "Data of the event; empty when left out" }),
      ),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("email", { description: "Send a mail" }),
      template: T.String({ minLength: 1, maxLength: 128, description: "Name or id of the template" }),
      to: described(Addresses, "Recipients"),
      data: T.Optional(
        T.Record(T.String(), T.Unknown(), { description: "Values of the template's variables" }),
      ),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("sql", { description: "Run an SQL statement" }),
      database_id: T.Optional(
        Nullable(Id, { description: "Database; the project's default when left out or null" }),
      ),
      statement: T.String({ minLength: 1, maxLength: 32_768, description: "SQL statement" }),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("function", { description: "Invoke a function" }),
      function_name: T.String({ minLength: 1, maxLength: 128, description: "Name of the function" }),
      payload: T.Optional(T.Unknown({ description: "Event of the function; empty when left out" })),
    },
    closed,
  ),
  T.Object(
    {
      type: T.Literal("service", { description: "Send a request to a run service" }),
      service_id: T.String({ minLength: 1, maxLength: 128, description: "Run service" }),
      path: T.String({ minLength: 1, maxLength: 2048, description: "Path and query of the request" }),
      method: T.Optional(OneOf(methods, { description: "Method of the request; `POST` when left out" })),
    },
    closed,
  ),
])

/** Target of a schedule, by type. */
export type CronTargetOf<Type extends CronTargetType = CronTargetType> = Extract<
  Static<typeof CronTarget>,
  { type: Type }
>

export const CronExpression = T.String({
  minLength: 1,
  maxLength: 200,
  description:
    "Minute, hour, day of the month, month, day of the week; a sixth field in front for the second. `L`, `W`, `#` and " +
    "names such as `@daily` work, and so does `CRON_TZ=Europe/Berlin ` in front.",
})
export const Timezone = T.String({
  minLength: 1,
  maxLength: 64,
  description: "IANA time zone; UTC when left out",
})

export const cronFields = {
  name: T.Optional(Name),
  cron: T.Optional(CronExpression),
  interval_seconds: T.Optional(
    T.Integer({ minimum: 1, maximum: 366 * 86_400, description: "Seconds between runs, in place of `cron`" }),
  ),
  run_at: T.Optional(T.String({ format: "date-time", description: "RFC 3339 time of the only run" })),
  timezone: T.Optional(Timezone),
  target: T.Optional(described(CronTarget, "What a run does")),
  function_name: T.Optional(
    T.String({ minLength: 1, maxLength: 128, description: "Short form of a target of type `function`" }),
  ),
  enabled: T.Optional(T.Boolean({ description: "False pauses the schedule; true when left out" })),
  overlap_policy: T.Optional(
    OneOf(cronOverlapPolicies, {
      description: "What to do when a run is due while another is unfinished; `skip` when left out",
    }),
  ),
  catchup_policy: T.Optional(
    OneOf(cronCatchupPolicies, { description: "What to do with runs that are late; `latest` when left out" }),
  ),
  catchup_window_seconds: T.Optional(
    T.Integer({
      minimum: 10,
      maximum: 366 * 86_400,
      description: "Runs that are later than this are missed; 3600 when left out",
    }),
  ),
  jitter_seconds: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 86_400,
      description: "Delays each run by a random time up to this; 0 when left out",
    }),
  ),
  timeout_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 900,
      description:
        "How long one attempt may take: 30 when left out; a function takes as long as its own limit, and never longer",
    }),
  ),
  max_retries: T.Optional(
    T.Integer({ minimum: 0, maximum: 20, description: "Attempts after the first; 3 when left out" }),
  ),
  pause_on_failure: T.Optional(
    T.Boolean({
      description: "Pause the schedule once an execution has failed for good; false when left out",
    }),
  ),
  start_at: T.Optional(
    Nullable(Time, { description: "RFC 3339 time before which it does not run; null or left out: none" }),
  ),
  end_at: T.Optional(
    Nullable(Time, { description: "RFC 3339 time after which it does not run; null or left out: none" }),
  ),
  description: T.Optional(T.String({ maxLength: 500 })),
}

export const cronAliases = { schedule: "cron", expression: "cron" } as const

const scheduleFields = {
  id: Id,
  name: T.String(),
  description: T.String(),
  project_id: Nullable(Id, { description: "Project it belongs to; null for the organization" }),
  cron: Nullable(T.String(), { description: "Cron expression; null for other kinds" }),
  interval_seconds: Nullable(T.Integer(), { description: "Seconds between runs; null for other kinds" }),
  run_at: Nullable(Time, { description: "RFC 3339 time in UTC of the only run; null for other kinds" }),
  timezone: T.String({ description: "IANA time zone in which the expression is read" }),
  target: T.Record(T.String(), T.Unknown(), {
    description: "Target as given; credentials in headers are shown as `***`",
  }),
  enabled: T.Boolean({ description: "False while it is paused" }),
  status: OneOf(["active", "paused", "completed"], { description: "`completed`: it will not run again" }),
  overlap_policy: OneOf(cronOverlapPolicies, {
    description: "What happens when a run is due while another is unfinished",
  }),
  catchup_policy: OneOf(cronCatchupPolicies, { description: "What happens to runs that are late" }),
  catchup_window_seconds: T.Integer({ description: "Runs that are later than this are missed" }),
  jitter_seconds: T.Integer({ description: "Each run is delayed by a random time up to this" }),
  timeout_seconds: T.Integer({ description: "How long one attempt may take" }),
  max_retries: T.Integer({ description: "Attempts after the first" }),
  pause_on_failure: T.Boolean({ description: "Whether it is paused once an execution has failed for good" }),
  start_at: Nullable(Time, {
    description: "RFC 3339 time in UTC before which it does not run; null for none",
  }),
  end_at: Nullable(Time, { description: "RFC 3339 time in UTC after which it does not run; null for none" }),
  next_run_at: Nullable(Time, { description: "RFC 3339 time in UTC of the next run; null if there is none" }),
  next_runs: T.Array(Time, {
    description: "RFC 3339 times in UTC of the next runs, at most five; empty while it is paused",
  }),
  last_run_at: Nullable(Time, { description: "RFC 3339 time in UTC of the last run; null before the first" }),
  last_status: Nullable(OneOf(cronExecutionStatuses), {
    description: "Status of the last execution; null before the first",
  }),
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
      description:
        "Secret that signs requests of http targets, as Standard Webhooks defines. Shown only in this reply",
    }),
  ),
})

export const Execution = T.Object({
  id: Id,
  schedule_id: Id,
  scheduled_for: described(Time, "RFC 3339 time in UTC when it was due, without jitter"),
  trigger: OneOf(cronTriggers, { description: "`catchup`: late, run by the catch-up policy" }),
  status: OneOf(cronExecutionStatuses, {
    description: "`missed`: too late for the catch-up policy; `skipped`: `skip_reason` says why",
  }),
  attempt: T.Integer({ description: "Number of the last attempt, from 1; 0 before the first" }),
  started_at: Nullable(
    T.String({
      format: "date-time",
      description: "RFC 3339 time in UTC of the last attempt; null before the first",
    }),
  ),
  finished_at: Nullable(Time, { description: "RFC 3339 time in UTC; null until it has finished" }),
  duration_ms: Nullable(
    T.Integer({ description: "Milliseconds that the last attempt took; null before its end" }),
  ),
  lag_ms: Nullable(
    T.Integer({
      description:
        "Milliseconds from the due time, jitter included, to the start of the first attempt; null before it",
    }),
  ),
  status_code: Nullable(T.Integer(), {
    description: "HTTP status of the last response; null where there was none",
  }),
  response_body: Nullable(T.String({ description: "First 4 KiB of the last response; null for none" })),
  error: Nullable(T.String(), { description: "Why the last attempt failed; null if it did not" }),
  skip_reason: Nullable(OneOf(["overlap", "outside_catchup_window"]), {
    description: "Why it was skipped or missed; null if it was not",
  }),
})
