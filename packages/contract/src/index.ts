/** What the contract gives to others. */
export { EXPORTED_EVENTS_MAX } from "./account-data.ts"
export {
  FACTORS_MAX,
  MFA_WAIT_SECONDS,
  PASSWORD_LENGTH_MAX,
  PASSWORD_LENGTH_MIN,
} from "./account-fields.ts"
export { OPTIMIZE_SECONDS_MAX } from "./advice.ts"
export {
  DOCUMENT_CHARACTERS_MAX,
  DOCUMENT_DATA_BYTES_MAX,
  DOCUMENT_EDITS_MAX,
  DOCUMENT_FILE_BYTES_MAX,
  DOCUMENT_FORMATS,
  DOCUMENT_VERSIONS_MAX,
  DOCUMENTS_MAX,
  type DocumentFormat,
  DocumentStyle,
} from "./ai-documents-fields.ts"
export {
  AI_AUDIO_BYTES_MAX,
  AI_DEFAULT_MODEL,
  AI_EMBEDDING_DIMENSIONS_DEFAULT,
  AI_KINDS,
  AI_UPSTREAMS_MAX,
  type AiKind,
  AiModelRecord,
  upstreamFields as aiUpstreamFields,
} from "./ai-fields.ts"
export {
  RAG_CHUNKS_MAX,
  RAG_DOCUMENTS_MAX,
  RAG_FILE_BYTES_MAX,
  RAG_FORMATS,
  RAG_METADATA_BYTES_MAX,
  RAG_STATUSES,
  RAG_TOP_K_DEFAULT,
  type RagDocumentPayload,
  type RagFormat,
  type RagMode,
  type RagStatus,
} from "./ai-rag.ts"
export {
  RESEARCH_BREADTH_DEFAULT,
  RESEARCH_DEADLINE_SECONDS_DEFAULT,
  RESEARCH_DEPTH_DEFAULT,
  RESEARCH_KEPT_DAYS,
  RESEARCH_RESULTS_DEFAULT,
  RESEARCH_SOURCES,
  RESEARCH_SOURCES_DEFAULT,
  RESEARCH_STATUSES,
  RESEARCH_UNFINISHED_MAX,
  RESEARCH_WAIT_SECONDS_DEFAULT,
  type ResearchRunPayload,
  type ResearchSourceName,
  type ResearchStatus,
} from "./ai-research.ts"
export {
  AI_GRAMMAR_LENGTH_MAX,
  AI_SUGGESTION_TOKENS_DEFAULT,
  AI_SUGGESTIONS_DEFAULT,
  AI_SUMMARY_SENTENCES_DEFAULT,
  AI_TEXT_LENGTH_MAX,
  AI_TEXT_TOP_K_DEFAULT,
} from "./ai-text.ts"
export { PendingApproval } from "./approvals.ts"
export * from "./areas.ts"
export {
  ACCESS_TOKEN_SECONDS_DEFAULT,
  type AuthMailKind,
  END_USER_SESSIONS_MAX,
  SESSION_IDLE_SECONDS_DEFAULT,
  SESSION_LIFETIME_SECONDS_DEFAULT,
  USER_METADATA_BYTES_MAX,
} from "./auth-fields.ts"
export { PROVIDER_CODE_SECONDS, PROVIDER_SIGN_IN_SECONDS, PROVIDERS_MAX } from "./auth-providers.ts"
export type { AgreementStatus } from "./billing-agreements.ts"
export {
  BILLING_AMOUNT_MICROS_MAX,
  BILLING_AMOUNT_MICROS_MIN,
  CHECKOUT_DAYS,
  type InvoiceStatus,
  type PaymentStatus,
  type TransferType,
} from "./billing-fields.ts"
export * from "./builds-fields.ts"
export { AUDIT_LIMIT_DEFAULT } from "./compliance.ts"
export { CONSENT_HISTORY_MAX } from "./compliance-gdpr.ts"
export {
  COMPUTER_SSH_KEYS_MAX,
  COMPUTERS_MAX,
  type ComputerPayload,
  type ComputerStatus,
} from "./computers.ts"
export {
  CRON_EXECUTIONS_KEPT,
  CRON_NEXT_RUNS,
  CRON_RESPONSE_BYTES_MAX,
  CRON_SCHEDULES_MAX,
  CRON_TARGET_BYTES_MAX,
  type CronCatchupPolicy,
  type CronExecutionStatus,
  type CronOverlapPolicy,
  type CronTargetOf,
  type CronTargetType,
  type CronTrigger,
} from "./cron-fields.ts"
export {
  HISTORY_RETENTION_SECONDS_DEFAULT,
  ISOLATION_TIERS,
  PG_VERSION_DEFAULT,
  PG_VERSIONS,
  SUSPEND_TIMEOUT_SECONDS_DEFAULT,
} from "./databases-fields.ts"
export * from "./deployments-fields.ts"
export { DOMAIN_TARGETS } from "./domains-fields.ts"
export * from "./dsl.ts"
export {
  type DnsRecordName,
  dnsRecordNames,
  type EmailEventKind,
  emailEventKinds,
  type SuppressionReason,
} from "./email-delivery-fields.ts"
export {
  EMAIL_DOMAINS_MAX,
  EMAIL_PERIOD_DAYS_DEFAULT,
  EMAIL_PERIOD_DAYS_MAX,
} from "./email-domains.ts"
export {
  EMAIL_ATTACHMENT_BYTES_MAX,
  EMAIL_RECIPIENTS_MAX,
  EMAIL_SCHEDULE_DAYS_MAX,
  type RecipientStatus,
} from "./email-fields.ts"
export { ENCRYPTION_BATCH_MAX, ENCRYPTION_PLAINTEXT_BYTES_MAX } from "./encryption.ts"
export {
  EVENT_DATA_BYTES_MAX,
  EVENT_DEDUPE_SECONDS,
  EVENT_RETENTION_DAYS_MAX,
  EVENTS_PUBLISHED_MAX,
  SUBSCRIPTION_RETRIES_DEFAULT,
  SUBSCRIPTION_SECRET_GRACE_SECONDS_DEFAULT,
  SUBSCRIPTIONS_MAX,
  TOPICS_MAX,
  WEBHOOK_SECONDS_DEFAULT,
  WEBHOOK_SECONDS_MAX,
} from "./events-fields.ts"
export * from "./fault-pages.ts"
export * from "./faults.ts"
export {
  FUNCTION_CODE_BYTES_MAX,
  FUNCTION_CONCURRENCY_MAX,
  FUNCTION_ENV_BYTES_MAX,
  FUNCTION_FILES_MAX,
  FUNCTION_INVOCATIONS_KEPT,
  FUNCTION_LOG_BYTES_MAX,
  FUNCTION_LOG_LINES_MAX,
  FUNCTION_MEMORY_MB_DEFAULT,
  FUNCTION_PAYLOAD_BYTES_MAX,
  FUNCTION_RESPONSE_BYTES_MAX,
  FUNCTION_RETENTION_DAYS,
  FUNCTION_STREAM_BYTES_MAX,
  FUNCTION_TIMEOUT_SECONDS_DEFAULT,
  FUNCTION_VCPUS_DEFAULT,
  FUNCTION_VERSIONS_KEPT,
  FUNCTIONS_MAX,
  type FunctionLogStream,
  type FunctionStatus,
  type FunctionTrigger,
  type InvocationStatus,
} from "./functions-fields.ts"
export { type KeyType, keyTypes } from "./identity.ts"
export * from "./implied-faults.ts"
export { GIT_HOOK_BYTES_MAX } from "./integrations.ts"
export { gitProviders, INTEGRATION_SECRET_GRACE_SECONDS_DEFAULT } from "./integrations-fields.ts"
export { KEY_EXPIRY_DAYS_DEFAULT, KEY_ROTATION_GRACE_SECONDS_DEFAULT } from "./keys.ts"
export { KV_KEY_BYTES_MAX, KV_VALUE_BYTES_MAX } from "./kv.ts"
export { LB_BACKENDS_MAX, LB_LOGS_MAX, LOAD_BALANCERS_MAX } from "./lb-fields.ts"
export { MCP_TOOLS_PER_PAGE } from "./mcp.ts"
export * from "./meters.ts"
export {
  NOTIFICATION_DATA_BYTES_MAX,
  NOTIFICATION_DEVICES_MAX,
  NOTIFICATION_RETENTION_DAYS,
  type NotificationChannel,
  type NotificationPriority,
  notificationChannels,
  notificationPriorities,
} from "./notifications-fields.ts"
export * from "./oauth-fields.ts"
export * from "./plans.ts"
export * from "./platform-events.ts"
export { type BillingInterval, type MeterPrice, meterPrices, type PlanPrice, planPrices } from "./prices.ts"
export * from "./read-only.ts"
export {
  REGISTRY_BLOB_BYTES_MAX,
  REGISTRY_MANIFEST_BYTES_MAX,
  REGISTRY_PAGE_MAX,
  REGISTRY_REPOSITORIES_MAX,
  REGISTRY_UNREFERENCED_HOURS,
  REGISTRY_UPLOAD_HOURS,
  REGISTRY_UPLOADS_MAX,
} from "./registry.ts"
export * from "./run-fields.ts"
export {
  SANDBOX_FILE_BYTES_MAX,
  SANDBOX_IDLE_SECONDS_DEFAULT,
  SANDBOX_KEPT_HOURS,
  SANDBOXES_MAX,
  type SandboxKind,
  type SandboxPayload,
  type SandboxStatus,
  type SandboxStopReason,
  sandboxStatuses,
} from "./sandboxes-fields.ts"
export {
  PII_CONFIDENCE_DEFAULT,
  SCHEMA_COLUMNS_MAX,
  SCHEMA_SEARCH_LIMIT_DEFAULT,
  SCHEMA_TABLES_MAX,
} from "./schema.ts"
export * from "./scopes.ts"
export {
  SEARCH_DOCUMENT_BYTES_MAX,
  SEARCH_DOCUMENT_ID_LENGTH_MAX,
  SEARCH_FACET_VALUES_MAX,
  SEARCH_FACETS_MAX,
  SEARCH_INDEXED_CHARACTERS_MAX,
  SEARCH_LANGUAGE_DEFAULT,
  SEARCH_LIMIT_DEFAULT,
  SEARCH_METADATA_BYTES_MAX,
  SEARCH_RUN_ERRORS_MAX,
  SEARCH_SOURCES_MAX,
  SEARCH_URLS_MAX,
} from "./search-fields.ts"
export {
  QUERY_LOG_LIMIT_DEFAULT,
  SQL_BYTES_MAX,
  SQL_ROWS_DEFAULT,
  SQL_ROWS_MAX,
  SQL_TIMEOUT_MS_DEFAULT,
} from "./sql.ts"
export {
  BUCKET_TAGS_MAX,
  LISTED_OBJECTS_DEFAULT,
  OBJECT_BYTES_MAX,
  OBJECT_KEY_BYTES_MAX,
  OBJECT_METADATA_BYTES_MAX,
  OBJECT_TAGS_MAX,
  PARTS_MAX,
  PUT_BYTES_MAX,
  TAG_KEY_LENGTH_MAX,
  TAG_VALUE_LENGTH_MAX,
} from "./storage-fields.ts"
export { TUS_CHECKSUM_ALGORITHMS, TUS_HEADERS, TUS_VERSION } from "./storage-uploads.ts"
export {
  CHAT_MESSAGES_MAX,
  CHATS_OPEN_MAX,
  type ChatStatus,
  SUPPORT_TEXT_MAX,
  TICKET_COMMENTS_MAX,
  TICKET_PRIORITIES,
  TICKET_STATUSES,
  TICKETS_OPEN_MAX,
  type TicketPriority,
  type TicketStatus,
} from "./support-fields.ts"
export {
  Dictionary,
  EITHER_OR,
  type EitherOr,
  EXACT_NUMBERS,
  FIELD_FAULT,
  isList,
  type PageInput,
  page,
  pageOf,
} from "./types.ts"
export { meterServices, USAGE_EXPORT_DAYS_MAX } from "./usage.ts"
export { VECTOR_ID_BYTES_MAX, VECTOR_METADATA_BYTES_MAX, VECTORS_MAX } from "./vectors-fields.ts"
export {
  VPC_CONFIG_TOKEN_MINUTES,
  VPC_KEEPALIVE_DEFAULT,
  VPC_MTU_DEFAULT,
  VPC_PEERS_MAX,
  VPCS_MAX,
} from "./vpc.ts"
export * from "./waf.ts"
export {
  WEBHOOK_EVENT_TYPES_LIMIT_DEFAULT,
  WEBHOOK_SECRET_GRACE_SECONDS_DEFAULT,
  WEBHOOKS_MAX,
} from "./webhooks.ts"
export {
  EXEC_OUTPUT_BYTES_MAX,
  EXEC_TIMEOUT_SECONDS_DEFAULT,
  TERMINALS_MAX,
  WORKLOAD_ENV_BYTES_MAX,
  WORKLOAD_ENV_MAX,
  WORKLOAD_FILES_MAX,
  WORKLOAD_JSON_FILE_BYTES_MAX,
  WORKLOAD_LABELS_MAX,
} from "./workload-fields.ts"

/** Version of the interface (specification 9). */
export const API_VERSION = "1.5.0"
