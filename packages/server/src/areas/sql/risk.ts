/** Which statements a person approves first where a key says `require_approval`: a judgement over the syntax tree. */
import { findInTree, isTree, lastName, type Tree } from "./syntax-tree.ts"

/** Statements that are high-risk whatever stands in them, by the name of their node. */
const STATEMENTS: ReadonlyMap<string, string> = new Map([
  ["DropStmt", "drops"],
  ["DropdbStmt", "drops a database"],
  ["DropRoleStmt", "drops a role"],
  ["DropOwnedStmt", "drops all that a role owns"],
  ["DropTableSpaceStmt", "drops a tablespace"],
  ["DropUserMappingStmt", "drops a user mapping"],
  ["DropSubscriptionStmt", "drops a subscription"],
  ["TruncateStmt", "truncates"],
  ["GrantStmt", "changes rights"],
  ["GrantRoleStmt", "changes rights"],
  ["AlterDefaultPrivilegesStmt", "changes rights"],
  ["CreateRoleStmt", "creates a role"],
  ["AlterRoleStmt", "changes a role"],
  ["AlterRoleSetStmt", "changes a role"],
  ["AlterOwnerStmt", "changes an owner"],
  ["ReassignOwnedStmt", "changes owners"],
  ["AlterPolicyStmt", "changes a policy of row-level security"],
  ["CreatePolicyStmt", "changes row-level security"],
  ["AlterDatabaseStmt", "changes the database"],
  ["AlterDatabaseSetStmt", "changes the database"],
  ["AlterSystemStmt", "changes the server"],
  // Code that is not looked at.
  ["DoStmt", "runs a block of code"],
  ["CreateFunctionStmt", "creates code"],
])

const SECURITY = /^AT_(?:Disable|NoForce)RowSecurity$/

/** Functions that run SQL given as text. */
const RUNS_TEXT =
  /^(?:(?:query|cursor|table|schema|database)_to_xml|dblink|crosstab|connectby|xpath_table$|ts_stat$|ts_rewrite$)/

/** Whether a condition looks at any column: `WHERE true` chooses no rows. */
const namesColumn = (condition: unknown): boolean =>
  findInTree(condition, key => key === "ColumnRef" || key === "CurrentOfExpr" || undefined) ?? false

const riskOfAlter = ({ subtype, behavior }: Tree): string | undefined => {
  if (typeof subtype !== "string") return undefined
  if (/^AT_Drop|^AT_DetachPartition/.test(subtype) || behavior === "DROP_CASCADE") return "alters and drops"
  if (subtype === "AT_ChangeOwner") return "changes an owner"
  return SECURITY.test(subtype) ? "changes row-level security" : undefined
}

const riskOfPart = (key: string, value: unknown): string | undefined => {
  const known = STATEMENTS.get(key)
  if (known !== undefined) return known
  if (!isTree(value)) return undefined
  if (key === "DeleteStmt" && !namesColumn(value.whereClause))
    return "deletes without a WHERE that chooses rows"
  if (key === "UpdateStmt" && !namesColumn(value.whereClause))
    return "updates without a WHERE that chooses rows"
  if (key === "AlterTableCmd") return riskOfAlter(value)
  // X: DROP CONSTRAINT.
  if (key === "AlterDomainStmt" && (value.subtype === "X" || value.def === undefined))
    return "alters and drops"
  if (key === "MergeWhenClause" && value.commandType === "CMD_DELETE") return "deletes by MERGE"
  if (key === "FuncCall" && RUNS_TEXT.test(lastName(value.funcname).toLowerCase()))
    return "runs SQL that is given as text"
  return undefined
}

/** What makes a parsed text high-risk, wherever it stands in it: in a WITH, a rule, an EXPLAIN. Undefined: nothing. */
export const riskOf = (tree: unknown): string | undefined => findInTree(tree, riskOfPart)
