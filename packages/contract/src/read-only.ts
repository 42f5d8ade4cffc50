/** What a read-only key may call: specification 5.6.1. Printed in docs/generated/authority.md. */
import { mutates, type Operation } from "./dsl.ts"

/**
 * The operations by POST that only read, each with the reason. A read-only key is refused every other POST, PUT, PATCH
 * and DELETE, whatever the operation's declaration says of its effect.
 */
export const readsByPost: Readonly<Record<string, string>> = {
  "sql.execute":
    "SQL query (named by the specification): SELECT, SHOW and EXPLAIN alone, as a role that can write nothing, in a read-only transaction that is rolled back",
  "sql.batch": "SQL query (named by the specification): every statement as in `sql.execute`",
  "advice.anomalies": "database advice (named by the specification): reads the catalog and statistics",
  "advice.optimize":
    "database advice (named by the specification): plans statements; no index is tried on a copy for a read-only key",
  "advice.naturalLanguageToSql":
    "database advice (named by the specification): writes a statement; `execute` runs it read-only",
  "vectors.search": "search (named by the specification)",
  "vectors.get": "reads vectors by id; the ids would not fit a URL",
  "vectors.count": "counts vectors; the filter would not fit a URL",
  "ai.chat": "AI inference (named by the specification)",
  "ai.chatStream": "AI inference (named by the specification)",
  "ai.embed": "AI inference (named by the specification)",
  "ai.generateImage": "AI inference (named by the specification)",
  "ai.speak": "AI inference (named by the specification)",
  "ai.transcribe": "AI inference (named by the specification)",
  "aiText.autocomplete": "AI inference (named by the specification)",
  "aiText.grammar": "AI inference (named by the specification)",
  "aiText.sentiment": "AI inference (named by the specification)",
  "aiText.summarize": "AI inference (named by the specification)",
  "aiText.translate": "AI inference (named by the specification)",
  "aiText.vectorSearch": "search among the texts of the request itself; nothing is stored",
  "rag.query": "search (named by the specification); nothing is stored",
  "research.run": "AI inference (named by the specification); nothing is stored",
  "research.search": "search (named by the specification); nothing is stored",
  "aiDocuments.preview": "renders a document; nothing is stored",
  "kv.get": "reads an entry; the specification gives it as POST",
  "kv.exists": "tells whether an entry exists; the specification gives it as POST",
  "kv.keys": "lists keys; the specification gives it as POST",
  "encryption.decrypt": "opens a ciphertext; nothing is stored, and no key is made for it",
  "email.previewTemplate": "renders a template; nothing is sent or stored",
  "cron.preview": "computes times of a schedule that is not stored",
  "mcp.call": "calls another operation, which refuses read-only keys itself",
  "mcp.message": "calls other operations, which refuse read-only keys themselves",
  "storage.presign":
    "computes a link, as any holder of the key could sign for itself; links that write are refused",
  "s3.credentials":
    "computes the key's own S3 credentials from it; requests signed with them are read-only as the key is",
}

/** Whether a read-only key is refused. Public operations have no key. */
export const refusesReadOnly = (operation: Operation): boolean =>
  operation.scope !== "public" &&
  (mutates(operation) ||
    !(
      operation.method === "GET" ||
      operation.method === "HEAD" ||
      Object.hasOwn(readsByPost, operation.name)
    ))
