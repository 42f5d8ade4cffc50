/**
 * Everything that is measured, and can be limited, shown and priced.
 * A `count` adds up over a period. A `level` is a value at a moment; a period uses its average over time.
 */
export interface MeterSpec {
  readonly kind: "count" | "level"
  readonly unit: string
  readonly description: string
}

export const meters = {
  requests: {
    kind: "count",
    unit: "request",
    description: "Requests made with a key, rejected ones included",
  },
  request_errors: {
    kind: "count",
    unit: "request",
    description: "Requests with a reply of status 400 or more",
  },
  ingress_bytes: { kind: "count", unit: "byte", description: "Bytes received in request bodies and uploads" },
  egress_bytes: { kind: "count", unit: "byte", description: "Bytes sent in replies and downloads" },

  database_hours: { kind: "count", unit: "hour", description: "Time that databases were running" },
  sql_statements: { kind: "count", unit: "statement", description: "SQL statements run over HTTP" },
  kv_reads: { kind: "count", unit: "entry", description: "Key-value entries read" },
  kv_writes: { kind: "count", unit: "entry", description: "Key-value entries written or deleted" },
  kv_bytes: { kind: "level", unit: "byte", description: "Keys and values stored" },
  encryption_ops: { kind: "count", unit: "text", description: "Texts encrypted, decrypted or rewrapped" },
  storage_gb: { kind: "level", unit: "GB", description: "Objects stored in buckets" },
  vector_ops: { kind: "count", unit: "vector", description: "Vectors written and searches run" },
  searches: { kind: "count", unit: "search", description: "Queries of the search index" },

  ai_requests: { kind: "count", unit: "request", description: "Requests served by a model" },
  ai_input_tokens: { kind: "count", unit: "token", description: "Tokens sent to models" },
  ai_output_tokens: { kind: "count", unit: "token", description: "Tokens produced by models" },

  build_minutes: { kind: "count", unit: "minute", description: "Time builds ran" },
  service_hours: { kind: "count", unit: "hour", description: "Time instances of run services were up" },
  compute_hours: {
    kind: "count",
    unit: "hour",
    description: "Time instances of deployments, computers and sandboxes were up",
  },
  workload_vcpu_seconds: {
    kind: "count",
    unit: "vCPU-second",
    description: "Processors of computers and sandboxes, multiplied by the time they were up",
  },
  workload_memory_gb_seconds: {
    kind: "count",
    unit: "GB-second",
    description: "Memory of computers and sandboxes, multiplied by the time they were up",
  },
  workload_disk_gb_hours: {
    kind: "count",
    unit: "GB-hour",
    description: "Disk of computers and sandboxes, multiplied by the time they had it",
  },
  function_invocations: { kind: "count", unit: "invocation", description: "Functions invoked" },
  gb_seconds: {
    kind: "count",
    unit: "GB-second",
    description: "Function memory multiplied by the time it ran",
  },

  events_published: { kind: "count", unit: "event", description: "Events published to topics" },
  deliveries: { kind: "count", unit: "attempt", description: "Attempts to deliver an event or webhook" },
  email_sends: { kind: "count", unit: "recipient", description: "E-mails accepted, counted by recipient" },
} as const satisfies Record<string, MeterSpec>

export type Meter = keyof typeof meters

export const isMeter = (name: string): name is Meter => Object.hasOwn(meters, name)

export const meterNames = Object.keys(meters) as readonly Meter[]
