// Made by `npm run gen` from the migrated database.
import type { ColumnType, Generated } from "kysely"

export interface Tables {
  "computers.computers": {
    id: string
    organization_id: string
    owner_id: string
    project_id: string | null
    host_id: string
    name: string
    status: string
    status_reason: string | null
    host_lost: boolean
    vcpus: number
    memory_mb: number
    disk_gb: number
    image: string
    ssh_keys: string[]
    env: string | null
    env_names: string[]
    labels: ColumnType<unknown, string>
    private_ip: string
    isolation: string
    auto_stop_seconds: number
    last_activity_at: Date | null
    created_at: Date
    updated_at: Date
    started_at: Date | null
    stopped_at: Date | null
    image_digest: string | null
  }
  "core.api_keys": {
    id: string
    organization_id: string
    project_id: string | null
    type: string
    name: string
    prefix: string
    secret_hash: Buffer
    scopes: string[]
    read_only: boolean
    require_approval: boolean
    ip_allowlist: string[]
    created_by: string | null
    created_at: Date
    expires_at: Date | null
    last_used_at: Date | null
    rotated_from_id: string | null
    grace_expires_at: Date | null
    revoked_at: Date | null
    organization_reach: Generated<boolean>
  }
  "core.approvals": {
    id: string
    organization_id: string
    project_id: string | null
    key_id: string
    key_name: string
    operation: string
    method: string
    path: string
    summary: string
    request_digest: string
    sealed_request: string
    ip: string
    status: string
    requested_at: Date
    expires_at: Date
    decided_by: string | null
    decided_at: Date | null
    comment: string | null
    executing_since: Date | null
    result_status: number | null
    result_body: string | null
  }
  "core.audit_events": {
    tenant_id: string
    sequence: number
    id: string
    action: string
    occurred_at: Date
    outcome: string
    actor: ColumnType<unknown, string>
    targets: ColumnType<unknown, string>
    context: ColumnType<unknown, string>
    metadata: ColumnType<unknown, string>
    prev_hash: Buffer
    hash: Buffer
  }
  "core.audit_heads": {
    tenant_id: string
    sequence: number
    hash: Buffer
  }
  "core.hosts": {
    id: string
    name: string
    driver: string
    isolation: string
    memory_bytes: number
    memory_reserved_bytes: number
    workloads_max: number
    workloads: number
    started_at: Date
    seen_at: Date
    lost_at: Date | null
    url: string | null
  }
  "core.installation": {
    name: string
    value: string
  }
  "core.invitations": {
    id: string
    organization_id: string
    email: string
    role: string
    project_ids: string[] | null
    token_hash: Buffer
    invited_by: string | null
    created_at: Date
    expires_at: Date
    accepted_at: Date | null
    revoked_at: Date | null
  }
  "core.key_notices": {
    key_id: string
    told_at: Date
  }
  "core.login_failures": {
    account: Buffer
    source: string
    failures: number
    locked_until: Date | null
    updated_at: Date
  }
  "core.login_sources": {
    user_id: string
    source: string
    seen_at: Date
  }
  "core.members": {
    organization_id: string
    user_id: string
    role: string
    project_ids: string[] | null
    joined_at: Date
  }
  "core.organizations": {
    id: string
    name: string
    slug: string
    plan: string
    requests_per_second: number | null
    created_at: Date
    deleted_at: Date | null
  }
  "core.projects": {
    id: string
    organization_id: string
    name: string
    slug: string
    region: string
    created_at: Date
    deleted_at: Date | null
  }
  "core.sessions": {
    id: string
    user_id: string
    token_hash: Buffer
    ip: string | null
    user_agent: string | null
    created_at: Date
    authenticated_at: Date
    last_used_at: Date
    expires_at: Date
  }
  "core.signups": {
    id: string
    account: Buffer
    source: string
    email: string
    name: string
    organization_name: string
    password_hash: string | null
    token_hash: Buffer | null
    invitation_hash: Buffer | null
    attempts: number
    created_at: Date
    expires_at: Date
  }
  "core.usage": {
    organization_id: string
    project_id: string
    key_id: string
    metric: string
    day: string
    quantity: number
  }
  "core.users": {
    id: string
    email: string
    name: string
    password_hash: string
    failed_logins: Generated<number>
    locked_until: Date | null
    created_at: Date
  }
  "cron.executions": {
    id: string
    organization_id: string
    schedule_id: string
    number: number
    scheduled_for: Date
    due_at: Date
    trigger: string
    status: string
    attempt: number
    started_at: Date | null
    finished_at: Date | null
    duration_ms: number | null
    lag_ms: number | null
    status_code: number | null
    response_body: string | null
    error: string | null
    skip_reason: string | null
    created_at: Date
  }
  "cron.schedules": {
    id: string
    organization_id: string
    owner_id: string
    project_id: string | null
    name: string
    description: string
    cron: string | null
    interval_seconds: number | null
    run_at: Date | null
    timezone: string
    anchor_at: Date
    target_type: string
    target_key: string
    target: string
    signing_secret_hint: string
    enabled: boolean
    overlap_policy: string
    catchup_policy: string
    catchup_window_seconds: number
    jitter_seconds: number
    timeout_seconds: number
    max_retries: number
    pause_on_failure: boolean
    start_at: Date | null
    end_at: Date | null
    next_runs: Date[]
    due_at: Date | null
    last_run_at: Date | null
    last_status: string | null
    failure_count: number
    executions_made: number
    created_at: Date
    updated_at: Date
  }
  "databases.branches": {
    id: string
    organization_id: string
    database_id: string
    name: string
    parent_id: string | null
    parent_lsn: string | null
    parent_timestamp: Date | null
    protected: boolean
    state: string
    volume_id: string
    credentials: string
    expires_at: Date | null
    created_at: Date
    updated_at: Date
  }
  "databases.databases": {
    id: string
    organization_id: string
    project_id: string
    name: string
    pg_version: number
    isolation: string
    state: string
    is_default: boolean
    parent_id: string | null
    default_branch_id: string
    suspend_timeout_seconds: number
    history_retention_seconds: number
    created_at: Date
    updated_at: Date
    last_active_at: Date | null
    deleted_at: Date | null
    purge_at: Date | null
    storage_state: Generated<string>
    only_drop_frees: Generated<boolean>
  }
  "databases.query_log": {
    id: string
    tenant_id: string
    project_id: string
    database_id: string
    branch_id: string
    query_id: string
    sql: string
    command: string | null
    sqlstate: string | null
    error: string | null
    rows: number | null
    duration_ms: number
    wake_ms: number
    started_at: Date
    source: string
    key_id: string | null
    user_name: string | null
    application_name: string | null
    client_addr: string | null
    read_only: boolean
    request_id: string | null
  }
  "databases.volumes": {
    id: string
    organization_id: string
    database_id: string
    pg_version: number
    isolation: string
    state: string
    logical_size_bytes: number
    physical_size_bytes: number
    history_size_bytes: number
    created_at: Date
    data_size_bytes: Generated<number>
    read_only: Generated<boolean>
  }
  "databases.wakes": {
    branch_id: string
    organization_id: string
    started_at: Date
    ended_at: Date | null
    wake_ms: number
  }
  "deliveries.finished": {
    id: string
    kind: string
    tenant_id: string
    endpoint_id: string
    message_id: string
    event_type: string
    ordering_key: string | null
    bytes: number
    max_retries: number
    attempt_count: number
    status: string
    created_at: Date
    completed_at: Date
    attempts: string[]
  }
  "deliveries.lanes": {
    endpoint_id: string
    tenant_id: string
    kind: string
    worker_id: string | null
    consecutive_failures: Generated<number>
    failing_since: Date | null
    is_warned: Generated<boolean>
    blocked_until: Date | null
    last_delivery_at: Date | null
    last_success_at: Date | null
  }
  "deliveries.messages": {
    id: string
    kind: string
    tenant_id: string
    project_id: string | null
    stream_id: string
    type: string
    source: string | null
    topic: string | null
    at: Date
    data: string
  }
  "deliveries.pending": {
    id: string
    kind: string
    tenant_id: string
    endpoint_id: string
    message_id: string
    event_type: string
    ordering_key: string | null
    due_at: Date | null
    bytes: number
    max_retries: number
    attempt_count: Generated<number>
    attempts_from: Generated<number>
    attempts_max: number
    trigger: Generated<string>
    created_at: Date
    attempts: Generated<string[]>
  }
  "deliveries.workers": {
    id: string
    leased_until: Date
  }
  "email.attachments": {
    organization_id: string
    email_id: string
    position: number
    filename: string
    content_type: string
    content_id: string | null
    content: Buffer
  }
  "email.domains": {
    id: string
    organization_id: string
    domain: string
    return_path: string
    tracking_subdomain: string
    ownership_token: string
    dkim_selector: string
    dkim_public_key: string
    dkim_private_key: string
    status: string
    findings: ColumnType<unknown, string>
    ownership_proven: boolean
    checking_since: Date
    checks: number
    last_checked_at: Date | null
    next_check_at: Date | null
    verified_at: Date | null
    created_at: Date
  }
  "email.events": {
    id: string
    organization_id: string
    project_id: string | null
    email_id: string
    recipient_id: string
    message_id: string
    event: string
    recipient: string
    from_address: string
    subject: string
    template: string | null
    domain: string
    tags: ColumnType<unknown, string>
    details: ColumnType<unknown, string>
    created_at: Date
  }
  "email.messages": {
    id: string
    organization_id: string
    project_id: string | null
    message_id: string
    from_address: string
    from_name: string
    domain: string
    to_addresses: ColumnType<unknown, string>
    cc_addresses: ColumnType<unknown, string>
    reply_to: ColumnType<unknown, string | null>
    subject: string
    template: string | null
    html: string | null
    text: string | null
    headers: ColumnType<unknown, string>
    tags: ColumnType<unknown, string>
    bulk: boolean
    track_opens: boolean
    track_clicks: boolean
    scheduled_at: Date | null
    created_at: Date
  }
  "email.recipients": {
    id: string
    organization_id: string
    email_id: string
    position: number
    kind: string
    address: string
    status: string
    attempts: number
    last_error: string | null
    captured_at: Date | null
    updated_at: Date
  }
  "email.sends": {
    organization_id: string
    month: string
    shard: number
    recipients: number
  }
  "email.settings": {
    organization_id: string
    from_email: string | null
    from_name: string | null
    reply_to: string | null
    mode: string
    relay_host: string | null
    relay_port: number | null
    relay_security: string | null
    relay_username: string | null
    relay_password: string | null
    max_per_second: number
    own_domain_delivery_enabled: boolean
    enabled_at: Date | null
    paused_at: Date | null
    paused_reason: string | null
    default_domain_id: string | null
    track_opens: boolean
    track_clicks: boolean
    suppress_hard_bounce: boolean
    suppress_complaint: boolean
    updated_at: Date
  }
  "email.signing_keys": {
    organization_id: string
    secret: string
    created_at: Date
  }
  "email.suppression": {
    organization_id: string
    address: string
    reason: string
    origin: string
    source_email_id: string | null
    created_at: Date
  }
  "email.templates": {
    id: string
    organization_id: string
    name: string
    version: number
    subject: string
    html: string
    text: string | null
    mjml: string | null
    from_address: string | null
    reply_to: string | null
    bulk: boolean
    variables: ColumnType<unknown, string>
    created_at: Date
    updated_at: Date
    project_id: string | null
  }
  "encryption.keys": {
    tenant_id: string
    version: number
    state: string
    wrapped_key: string | null
    uses_reserved: number
    created_at: Date
  }
  "events.dedupes": {
    topic_id: string
    dedupe_key: string
    message_id: string
    event_type: string
    source: string | null
    matched: number
    published_at: Date
  }
  "events.old_secrets": {
    subscription_id: string
    id: string
    secret: string
    signs_until: Date
  }
  "events.subscriptions": {
    id: string
    organization_id: string
    project_id: string | null
    owner_id: string
    topic_id: string
    sub_type: string
    target: string
    headers: string | null
    header_names: string[]
    timeout_seconds: number
    format: string
    event_types: string[]
    max_retries: number
    retry_schedule_seconds: number[] | null
    ordered: boolean
    max_per_second: number | null
    status: string
    disabled_reason: string | null
    secret: string
    secret_hint: string
    created_at: Date
    updated_at: Date
  }
  "events.topics": {
    id: string
    organization_id: string
    project_id: string | null
    owner_id: string
    name: string
    retention_days: number
    event_count: Generated<number>
    created_at: Date
    updated_at: Date
  }
  "functions.codes": {
    organization_id: string
    sha256: string
    pack: Buffer
    size_bytes: number
    files: number
    created_at: Date
  }
  "functions.functions": {
    id: string
    organization_id: string
    project_id: string
    name: string
    description: string
    labels: ColumnType<unknown, string>
    is_public: boolean
    version: number
    status: string
    status_reason: string | null
    invocation_count: number
    last_invoked_at: Date | null
    created_at: Date
    updated_at: Date
  }
  "functions.invocations": {
    id: string
    organization_id: string
    function_id: string
    function_version: number
    trigger: string
    mode: string
    status: string
    status_code: number | null
    attempt: number
    created_at: Date
    started_at: Date | null
    ended_at: Date | null
    queue_ms: number | null
    init_duration_ms: number | null
    duration_ms: number | null
    memory_mb: number
    max_memory_used_mb: number | null
    cold_start: boolean | null
    payload_bytes: number
    response_bytes: number | null
    result: string | null
    error: ColumnType<unknown, string | null>
    request_id: string | null
  }
  "functions.logs": {
    id: Generated<number>
    organization_id: string
    function_id: string
    invocation_id: string | null
    at: Date
    stream: string
    message: string
  }
  "functions.payloads": {
    invocation_id: string
    payload: string
  }
  "functions.versions": {
    organization_id: string
    function_id: string
    version: number
    runtime: string
    handler: string
    code_sha256: string
    memory_mb: number
    timeout_seconds: number
    vcpus: number
    env: string | null
    env_names: string[]
    concurrency: number
    min_instances: number
    created_at: Date
    image: string | null
    image_digest: string | null
  }
  "integrations.credentials": {
    organization_id: string
    project_id: string
    provider: string
    kind: string
    base_url: string
    username: string | null
    app_id: string | null
    secret: string
    hint: string
    created_at: Date
    updated_at: Date
  }
  "integrations.events": {
    id: string
    organization_id: string
    project_id: string
    integration_id: string
    source: string
    type: string
    provider_event: string
    delivery_id: string | null
    part: number
    repository: string
    ref: string | null
    commit: string | null
    commit_before: string | null
    message: string | null
    author: string | null
    pull_request: ColumnType<unknown, string | null>
    paths: ColumnType<unknown, string | null>
    status: string
    reason: string | null
    is_new: boolean
    build_id: string | null
    received_at: Date
    processed_at: Date | null
  }
  "integrations.heads": {
    organization_id: string
    integration_id: string
    ref: string
    commit: string
    known_at: Date
  }
  "integrations.installations": {
    organization_id: string
    project_id: string
    installation_id: number
    account_login: string
    account_type: string
    repository_selection: string
    permissions: ColumnType<unknown, string>
    suspended_at: Date | null
    html_url: string | null
    created_at: Date
  }
  "integrations.integrations": {
    id: string
    organization_id: string
    project_id: string
    provider: string
    repository: string
    installation_id: number | null
    branch_filter: string[]
    path_include: string[]
    path_exclude: string[]
    auto_build: boolean
    auto_deploy: boolean
    preview: boolean
    build: ColumnType<unknown, string>
    deploy_target: ColumnType<unknown, string | null>
    status: string
    secret: string
    secret_hint: string
    old_secret: string | null
    old_secret_until: Date | null
    last_event_at: Date | null
    last_event_id: string | null
    last_error: string | null
    polled_at: Date | null
    poll_etag: string | null
    poll_after: Date | null
    created_at: Date
    updated_at: Date
  }
  "kernel.dead_jobs": {
    id: number
    queue: string
    tenant_id: string
    target_key: string
    ordering_key: string | null
    dedupe_key: string | null
    priority: number
    attempts: number
    error: string
    enqueued_at: Date
    died_at: Date
    payload: ColumnType<unknown, string>
  }
  "kernel.job_workers": {
    id: string
    queue: string
    leased_until: Date
  }
  "kernel.jobs": {
    id: Generated<number>
    queue: string
    tenant_id: string
    target_key: string
    ordering_key: string | null
    dedupe_key: string | null
    state: string
    priority: number
    run_at: Date
    due_at: Date
    attempts: Generated<number>
    worker_id: string | null
    claim_token: string | null
    again_at: Date | null
    last_error: string | null
    enqueued_at: Date
    payload: ColumnType<unknown, string>
  }
  "kernel.migrations": {
    schema: string
    name: string
    sha256: string
    applied_at: Generated<Date>
  }
  "kernel.replays": {
    tenant_id: string
    caller_id: string
    method: string
    path: string
    idempotency_key: string
    digest: Buffer
    token: string
    claimed_until: Date
    expires_at: Date
    status: number | null
    headers: ColumnType<unknown, string | null>
    body: ColumnType<unknown, string | null>
  }
  "notifications.dedupe_keys": {
    organization_id: string
    owner_id: string
    dedupe_key: string
    result: ColumnType<unknown, string>
    created_at: Date
  }
  "notifications.deliveries": {
    id: string
    organization_id: string
    user_id: string
    notification_id: string
    channel: string
    device_id: string | null
    status: string
    provider_status: number | null
    reason: string | null
    at: Date
  }
  "notifications.devices": {
    id: string
    organization_id: string
    user_id: string
    platform: string
    provider: string
    environment: string
    token_hash: Buffer
    token_hint: string
    target: string
    name: string | null
    locale: string | null
    last_success_at: Date | null
    invalidated_at: Date | null
    invalid_reason: string | null
    created_at: Date
    updated_at: Date
  }
  "notifications.entries": {
    organization_id: string
    user_id: string
    id: string
    seq: number
    project_id: string | null
    collapse_key: string | null
    in_app: boolean
    created_at: Date
    expires_at: Date | null
    read_at: Date | null
    seen_at: Date | null
    archived_at: Date | null
  }
  "notifications.inboxes": {
    organization_id: string
    user_id: string
    last_seq: number
  }
  "notifications.messages": {
    id: string
    organization_id: string
    project_id: string | null
    type: string | null
    category: string | null
    title: string
    body: string
    data: ColumnType<unknown, string>
    action_url: string | null
    priority: string
    collapse_key: string | null
    created_at: Date
    expires_at: Date | null
  }
  "notifications.preferences": {
    organization_id: string
    user_id: string
    preferences: ColumnType<unknown, string>
    updated_at: Date
  }
  "notifications.providers": {
    organization_id: string
    vapid_public_key: string
    vapid_private_key: string
    vapid_subject: string | null
    fcm: string | null
    apns: string | null
  }
  "sandboxes.sandboxes": {
    id: string
    organization_id: string
    owner_id: string
    project_id: string | null
    host_id: string
    kind: string
    name: string | null
    status: string
    stop_reason: string | null
    status_reason: string | null
    template: string
    vcpus: number
    memory_mb: number
    disk_gb: number
    timeout_seconds: number | null
    idle_timeout_seconds: number
    env: string | null
    env_names: string[]
    labels: ColumnType<unknown, string>
    cwd: string | null
    guest_user: string
    network: ColumnType<unknown, string>
    isolation: string
    cold_start: boolean | null
    provision_ms: number | null
    expires_at: Date | null
    last_activity_at: Date | null
    created_at: Date
    updated_at: Date
    started_at: Date | null
    stopped_at: Date | null
    image_digest: string | null
    ports: Generated<number[]>
  }
  "search.documents": {
    project_id: string
    source_id: string
    id: string
    title: string
    body: string
    url: string | null
    metadata: ColumnType<unknown, string>
    language: string
    boost: number
    updated_at: Date
    lexemes: string
  }
  "search.entries": {
    project_id: string
    source_id: string
    document_id: string
    hash: Buffer
    run_id: string | null
  }
  "search.languages": {
    project_id: string
    language: string
  }
  "search.runs": {
    project_id: string
    id: string
    source_id: string
    status: string
    cursor: string | null
    attempt: Generated<number>
    seen: Generated<number>
    written: Generated<number>
    unchanged: Generated<number>
    failed: Generated<number>
    removed: Generated<number>
    errors: ColumnType<unknown, string>
    error: string | null
    created_at: Date
    started_at: Date | null
    finished_at: Date | null
  }
  "search.sources": {
    id: string
    organization_id: string
    project_id: string
    name: string
    type: string
    config: ColumnType<unknown, string>
    fields: ColumnType<unknown, string>
    language: string
    schedule_seconds: number | null
    enabled: boolean
    document_count: number
    last_run_at: Date | null
    last_error: string | null
    created_at: Date
    updated_at: Date
    deleted_at: Date | null
  }
  "search.words": {
    project_id: string
    word: string
    documents: number
  }
  "storage.blobs": {
    project_id: string
    address: string
    bytes: number
    refs: number
    released_at: Date | null
    verified_at: Date
    condition: string
  }
  "storage.buckets": {
    id: string
    organization_id: string
    project_id: string
    name: string
    is_public: boolean
    created_at: Date
    holds_public_name: Generated<boolean>
  }
  "storage.chores": {
    name: string
    done_at: Date
  }
  "storage.counts": {
    bucket_id: string
    shard: number
    organization_id: string
    project_id: string
    object_count: number
    size_bytes: number
    upload_bytes: number
  }
  "storage.objects": {
    bucket_id: string
    key: string
    project_id: string
    size: number
    etag: string
    last_modified: Date
    http: ColumnType<unknown, string>
    metadata: ColumnType<unknown, string>
    checksums: ColumnType<unknown, string>
    checksum_type: string
    part_count: number | null
    addresses: string[]
    sizes: number[]
    parts: ColumnType<unknown, string | null>
  }
  "storage.parts": {
    upload_id: string
    number: number
    address: string | null
    size: number
    etag: string
    checksums: ColumnType<unknown, string>
    last_modified: Date
  }
  "storage.signing_keys": {
    id: string
    organization_id: string
    project_id: string
    secret: string
    created_at: Date
  }
  "storage.uploads": {
    id: string
    organization_id: string
    project_id: string
    bucket_id: string | null
    key: string
    kind: string
    http: ColumnType<unknown, string>
    metadata: ColumnType<unknown, string>
    checksum_algorithm: string | null
    checksum_type: string
    length_bytes: number | null
    received_bytes: number
    metadata_text: string | null
    created_at: Date
    expires_at: Date
    completed: ColumnType<unknown, string | null>
    concat: string | null
    concat_text: string | null
  }
  "support.chats": {
    id: string
    organization_id: string
    status: string
    subject: string | null
    contact_id: string
    contact_name: string
    contact_email: string | null
    assignee_id: string | null
    customer_unread: number
    agent_unread: number
    message_count: number
    last_message_at: Date | null
    created_at: Date
    updated_at: Date
  }
  "support.comments": {
    id: string
    organization_id: string
    ticket_id: string
    author_type: string
    author_id: string
    author_name: string
    body: string
    internal: boolean
    source: string
    mail_id: string | null
    created_at: Date
  }
  "support.messages": {
    organization_id: string
    session_id: string
    sequence: number
    id: string
    direction: string
    author_id: string
    author_name: string
    content: string
    content_type: string
    client_message_id: string | null
    read_at: Date | null
    created_at: Date
  }
  "support.tickets": {
    id: string
    organization_id: string
    number: number
    subject: string
    description: string
    status: string
    priority: string
    category: string | null
    tags: string[]
    requester_id: string
    requester_name: string
    requester_email: string | null
    assignee_id: string | null
    session_id: string | null
    comment_count: number
    note_count: number
    reply_key: Buffer
    first_response_at: Date | null
    last_comment_at: Date | null
    resolved_at: Date | null
    closed_at: Date | null
    created_at: Date
    updated_at: Date
  }
  "vectors.collections": {
    id: string
    organization_id: string
    owner_id: string
    name: string
    dimension: number
    metric: string
    index_type: string
    m: number
    ef_construction: number
    vector_count: number
    last_seq: number
    forgotten_seq: number
    created_at: Date
    updated_at: Date
  }
  "vectors.dropped": {
    collection_id: string
    dropped_at: Date
  }
  "vectors.vectors": {
    collection_id: string
    id: string
    seq: number
    values: Buffer | null
    metadata: ColumnType<unknown, string | null>
    deleted_at: Date | null
  }
  "webhooks.old_secrets": {
    organization_id: string
    webhook_id: string
    id: string
    secret: string
    signs_until: Date
  }
  "webhooks.webhooks": {
    id: string
    organization_id: string
    project_id: string | null
    url: string
    event_types: string[]
    description: string
    active: boolean
    secret: string
    secret_hint: string
    disabled_at: Date | null
    disabled_reason: string | null
    created_at: Date
    updated_at: Date
  }
}
