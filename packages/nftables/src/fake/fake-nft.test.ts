import { FakeNft } from "./fake-nft.ts";
import { connectionCompliance } from "../testing/connection-compliance.ts";

connectionCompliance(() => new FakeNft());
