import { FUNCTIONS, TABLES } from "../catalog.ts"
import { check } from "../findings.ts"

const rlsWithoutPolicy = check<{ table: string }>({
  name: "rls_enabled_no_policy",
  title: "Row-level security without a policy",
  level: "INFO",
  categories: ["SECURITY"],
  description: "With row-level security and no policy nobody but the table's owner sees any row.",
  sql: `SELECT own.name AS table FROM ${TABLES} AS own
    WHERE own.relrowsecurity AND NOT EXISTS (SELECT FROM pg_policy AS policy WHERE policy.polrelid = own.oid)
    ORDER BY 1`,
  found: row => ({
    key: row.table,
    detail: `${row.table} has row-level security enabled and no policy.`,
    remediation: `Say who may see what: CREATE POLICY name ON ${row.table} FOR SELECT USING (condition);`,
    metadata: row,
  }),
})

const policyWithoutRls = check<{ table: string; policies: string[] }>({
  name: "policy_exists_rls_disabled",
  title: "Policy that is not in force",
  level: "ERROR",
  categories: ["SECURITY"],
  description:
    "The table has policies, but row-level security is off, so everybody with access sees every row.",
  sql: `SELECT own.name AS table, array_agg(policy.polname ORDER BY policy.polname) AS policies
    FROM ${TABLES} AS own JOIN pg_policy AS policy ON policy.polrelid = own.oid
    WHERE NOT own.relrowsecurity GROUP BY own.name ORDER BY 1`,
  found: row => ({
    key: row.table,
    detail: `${row.table} has ${row.policies.length} policies (${row.policies.join(", ")}) and row-level security is off.`,
    remediation: `ALTER TABLE ${row.table} ENABLE ROW LEVEL SECURITY;`,
    metadata: row,
  }),
})

const definerSearchPath = check<{ function: string; kind: string }>({
  name: "security_definer_search_path",
  title: "Security-definer function with an open search path",
  level: "WARN",
  categories: ["SECURITY"],
  description:
    "The function runs with its owner's rights and finds names by the caller's search path, so a caller can put a table or function of theirs in its way.",
  sql: `SELECT function.name AS function, CASE function.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END AS kind
    FROM ${FUNCTIONS} AS function
    WHERE function.prosecdef
      AND NOT EXISTS (SELECT FROM unnest(function.proconfig) AS setting WHERE setting LIKE 'search\\_path=%')
    ORDER BY 1`,
  found: row => ({
    key: row.function,
    detail: `${row.function} is SECURITY DEFINER and sets no search_path.`,
    remediation: `ALTER ${row.kind} ${row.function} SET search_path = pg_catalog, pg_temp; and qualify the names in it.`,
    metadata: row,
  }),
})

export const securityChecks = [rlsWithoutPolicy, policyWithoutRls, definerSearchPath]
