/** What tests of this and other packages share: `@bulrush/datastore/testing`. Not for programs. */
export {
  COMPLIANCE_SETUP,
  type ComplianceServer,
  type ComplianceSetup,
  driverCompliance,
} from "./kubernetes/testing/driver-compliance.ts";
export { type WriterServer, writerCompliance } from "./kubernetes/testing/writer-compliance.ts";
export { FakeApiServer, type Fault, type SeenRequest, status } from "./kubernetes/testing/fake-api-server.ts";
export type { StoredObject } from "./kubernetes/testing/fake-objects.ts";
