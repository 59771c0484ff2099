// ARX: local recoding with hierarchies, as its documentation proposes it: a transformation, then the records that it
// suppressed again and again. Arguments as for the other programs; run by `java -cp ARX.jar Arx.java ...`.

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

public class Arx {
    private static final int STEPS = 100;

    public static void main(String[] given) throws Exception {
        int k = Integer.parseInt(given[2]);
        int l = Integer.parseInt(given[3]);
        String sensitive = given[4];
        Data data = Data.create(Path.of(given[0]).toFile(), StandardCharsets.UTF_8, ';');
        DataHandle input = data.getHandle();
        for (int column = 0; column < input.getNumColumns(); column++) {
            data.getDefinition().setAttributeType(input.getAttributeName(column), AttributeType.INSENSITIVE_ATTRIBUTE);
        }
        for (int at = 6; at < given.length; at++) {
            Path file = Path.of(given[5], given[at] + ".csv");
            data.getDefinition().setAttributeType(given[at], Hierarchy.create(file.toFile(), StandardCharsets.UTF_8, ';'));
        }
        ARXConfiguration asked = ARXConfiguration.create();
        asked.addPrivacyModel(new KAnonymity(k));
        if (l > 0) {
            data.getDefinition().setAttributeType(sensitive, AttributeType.SENSITIVE_ATTRIBUTE);
            asked.addPrivacyModel(new DistinctLDiversity(sensitive, l));
        }
        asked.setSuppressionLimit(1d - 1d / STEPS);
        asked.setQualityModel(Metric.createLossMetric(0d));
        ARXResult result = new ARXAnonymizer().anonymize(data, asked);
        DataHandle output = result.getOutput(false);
        result.optimizeIterativeFast(output, 1d / STEPS);
        output.save(Path.of(given[1]).toFile(), ';');
    }
}
