import type { FaultSpec } from "./spec.ts"

/** 400 of one area each: data, workloads, messages, network. */
export const badInputFaults = {
  invalid_sql: {
    status: 400,
    text: "the database rejected the statement[: {reason}]",
    help: "The text after the colon is PostgreSQL's own message. Correct the statement or its parameters; the statement had no effect.",
  },
  query_timeout: {
    status: 400,
    text: "the statement ran longer than its time limit[ of {seconds} seconds]",
    help: "The statement was cancelled and had no effect. Restrict it, add an index (`POST /api/v1/optimize` proposes some) or give it a longer time limit.",
  },
  question_not_understood: {
    status: 400,
    text: "the question is not understood[: {reason}]",
    help: "Text to SQL answers only when its statement uses every word of the question, and there is one way to join the tables. The text after the colon says what was not understood: reword the question with the names of tables and columns, or send a statement to `POST /api/v1/sql`. A language model, where the operator sets `SVC_AI_URL`, understands more.",
  },
  question_not_read_only: {
    status: 400,
    text: "only questions are supported: this one asks to change data",
    help: "Text to SQL writes statements that read, and nothing else. Send a statement that changes data to `POST /api/v1/sql`.",
  },
  invalid_isolation_tier: {
    status: 400,
    text: "isolation must be shared, isolated or dedicated",
    help: "Choose one of the three tiers, or leave the field out to get the default.",
  },
  unsupported_pg_version: {
    status: 400,
    text: "pg_version must be 16, 17 or 18",
    help: "Those are the supported major versions of PostgreSQL; 16 is the default. A database keeps its version, and so do its branches and restores.",
  },
  recovery_point_invalid: {
    status: 400,
    text: "the database cannot be restored to this point[: {reason}]",
    help: "Name a time or a log position inside the window that `GET /v1/databases/{id}/recovery-window` gives, and only one of the two.",
  },
  decryption_failed: {
    status: 400,
    text: "the ciphertext could not be decrypted",
    help: "It was modified, belongs to another tenant, was encrypted with another `context`, or its key version is no longer accepted. For security the error does not say which; check that `context` is exactly the one given to `encrypt`.",
  },
  kv_key_too_large: {
    status: 400,
    text: "the key is too large[: at most {bytes} bytes are allowed]",
    help: "Keys are measured in UTF-8 bytes. Shorten the key, or use a hash of it.",
  },
  kv_value_too_large: {
    status: 400,
    text: "the value is too large[: at most {bytes} bytes are allowed]",
    help: "Values are measured as JSON in UTF-8 bytes. Keep large values in an object of a bucket and store its name here.",
  },
  too_many_keys: {
    status: 400,
    text: "too many keys in one request[: at most {limit} are allowed]",
    help: "Split the list over several requests. A computer holds at most 32 ssh keys in all.",
  },
  dimension_mismatch: {
    status: 400,
    text: "a vector has the wrong dimension[: vector {index} has {actual} values, the collection has {expected}]",
    help: "Every vector of a collection has the dimension fixed at its creation; no vector of the batch was written. Use the embedding model that the collection was created for.",
  },
  batch_too_large: {
    status: 400,
    text: "the batch is too large[: at most {limit} items are allowed]",
    help: "No item of the batch was written. Split it and send the parts one after another.",
  },
  event_too_large: {
    status: 400,
    text: "the event is too large[: at most {bytes} bytes are allowed]",
    help: "Store large payloads as an object in a bucket, and publish the name of the object.",
  },
  template_variable_missing: {
    status: 400,
    text: "the template needs variables that were not given[: {names}]",
    help: "No mail was sent, because it would have had gaps. Add the variables to `data`.",
  },
  ticket_closed: {
    status: 400,
    text: "this ticket is closed",
    help: "A closed ticket takes no comments or changes. Open a new ticket and mention the old one.",
  },
  invalid_webhook_url: {
    status: 400,
    text: "the webhook URL is not allowed[: {reason}]",
    help: "Give an absolute URL whose host resolves to a public address. An operator can allow private targets with `SVC_OUTBOUND_ALLOW`.",
  },
  invalid_ssh_key: {
    status: 400,
    text: "a key is not an OpenSSH public key[: entry {index}]",
    help: "Send the one line of a `.pub` file, such as `ssh-ed25519 AAAA… name`. No key of the list was changed.",
  },
  too_many_files: {
    status: 400,
    text: "a request writes 1 to 64 files",
    help: "The list of files is empty or too long. Split it, or send an archive and unpack it with a command.",
  },
  sandbox_not_running: {
    status: 400,
    text: "this sandbox is not running[: it is {state}]",
    help: "Commands need a running sandbox. Wait until it has started. An ephemeral sandbox that has ended cannot be started again, so create a new one.",
  },
  checksum_mismatch: {
    status: 400,
    text: "the content does not have the checksum that was sent with it[: {algorithm}]",
    help: "The content was modified on its way, or the checksum belongs to other content. Nothing was stored. Compute the checksum again from the bytes that you send; if it is right, a proxy or a faulty connection modifies them.",
  },
  upload_checksum_mismatch: {
    status: 460,
    text: "these bytes do not have the checksum that was sent with them",
    help: "They were modified on their way and not stored. Send them again from the same offset. The status is defined by the tus protocol.",
  },
  repository_name_invalid: {
    status: 400,
    text: "the name of the repository is not valid",
    help: "A name has parts of lower-case letters and digits with `.`, `_`, `__` or `-` between them, joined by slashes: 200 characters at most, after the project's id.",
  },
  digest_invalid: {
    status: 400,
    text: "the digest is not valid",
    help: "A digest is `sha256:` and 64, or `sha512:` and 128 lower-case hexadecimal digits.",
  },
  digest_mismatch: {
    status: 400,
    text: "the content does not have the digest that was sent with it[: it has {digest}]",
    help: "The content was modified on its way, or bytes of the upload are missing. Nothing was stored; push it again.",
  },
  manifest_invalid: {
    status: 400,
    text: "the manifest is not valid[: {reason}]",
    help: "Manifests and indexes of the OCI image specification 1.1 and of Docker's schema 2 are accepted; schema 1 is not.",
  },
  manifest_blob_unknown: {
    status: 400,
    text: "the manifest refers to content that the repository does not have[: {digest}]",
    help: "Push blobs before the manifest that names them, and manifests before their index, all to the same repository.",
  },
  upload_part_invalid: {
    status: 400,
    text: "a part of the upload is not the one that was sent[: part {number}]",
    help: "The upload has no part of this number, or one with another ETag or checksum. List its parts and complete it with those, or send the part again.",
  },
  upload_part_too_small: {
    status: 400,
    text: "a part of the upload is too small[: part {number} has less than {bytes} bytes]",
    help: "Every part but the last has at least 5 MiB. Send it again with more in it.",
  },
  upload_empty: {
    status: 400,
    text: "the upload is empty",
    help: "Send the content as the request body. With curl, use `--data-binary @file`.",
  },
  upload_not_gzip: {
    status: 400,
    text: "the upload is not a gzipped tar archive",
    help: "Make it with `tar -czf context.tgz .` and send the raw bytes with `Content-Type: application/gzip`; multipart forms are refused.",
  },
  upload_too_large: {
    status: 400,
    text: "the upload is too large[: at most {bytes} bytes are allowed]",
    help: "Leave out what the build does not need, such as dependencies and version history.",
  },
  invalid_build_args: {
    status: 400,
    text: "build_args must be a JSON object of strings",
    help: 'Encode the object for a URL, for example `?build_args=%7B"NODE_ENV"%3A"production"%7D`.',
  },
  unsupported_waf_rule: {
    status: 400,
    text: "this rule cannot be enforced[: {reason}]",
    help: "Only patterns that match in linear time and the listed actions are enforced, and a rule without effect is not stored. Remove look-around and back-references from the pattern.",
  },
  invalid_backend: {
    status: 400,
    text: "the backend is not valid[: {reason}]",
    help: "Give an address and a port that the balancer may reach, once each. Loopback, link-local, private and metadata addresses are refused unless the operator opened them with `SVC_OUTBOUND_ALLOW`.",
  },
  load_balancer_unknown: {
    status: 400,
    text: "no load balancer has this id[: {id}]",
    help: "A backend is added to an existing balancer of the same project. `GET /v1/lb` lists them.",
    meansAbsent: true,
  },
  invalid_function_code: {
    status: 400,
    text: "the code of the function cannot be used[: {reason}]",
    help: "Send exactly one of `code`, `code_zip`, `files` and `storage`. A zip archive has plain files under relative paths: no links, no encryption, and no more or larger files than the API reference allows. Nothing is installed on the server: packages that `package.json` or `requirements.txt` name are part of the code, or bundled into it.",
  },
  function_payload_too_large: {
    status: 400,
    text: "the payload of the function is too large[: at most {bytes} bytes are allowed]",
    help: "Put large data into a bucket and send the function its key.",
  },
  ai_request_refused: {
    status: 400,
    text: "the AI provider refused the request[: {reason}]",
    help: "The provider found something wrong with the request itself, so no other was tried. Its own words are in the text.",
  },
  invalid_provider: {
    status: 400,
    text: "the provider is not supported[: {provider}]",
    help: "The API reference lists the supported providers of this operation.",
  },
  integration_exists: {
    status: 400,
    text: "this repository is already connected to the project",
    help: "A repository can be connected to a project only once. Change the existing integration with `PUT /v1/integrations/{id}`.",
  },
} as const satisfies Record<string, FaultSpec>
